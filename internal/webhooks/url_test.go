package webhooks

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
)

var public = NewRules([]uint16{443, 8443}, []netip.Prefix{
	netip.MustParsePrefix("93.184.0.0/16"), netip.MustParsePrefix("2606:2800::/32"),
})

func TestCheckURL(t *testing.T) {
	t.Parallel()
	long := "https://example.com/" + strings.Repeat("a", maxURL-len("https://example.com/"))
	for raw, want := range map[string]string{
		"https://example.com":               "https://example.com",
		"https://Example.COM:443/Hooks?a=b": "https://example.com/Hooks?a=b",
		"https://example.com:8443/":         "https://example.com:8443/",
		"https://example.com.:/x":           "https://example.com/x",
		"https://bücher.example/ä":          "https://xn--bcher-kva.example/%C3%A4",
		"https://ＥＸＡＭＰＬＥ.com/":              "https://example.com/",
		"https://1.1.1.1/":                  "https://1.1.1.1/",
		"https://[2606:4700::1111]/":        "https://[2606:4700::1111]/",
		"https://localhost/":                "https://localhost/", // Its address is refused when it is used.
		long:                                long,
	} {
		got, err := CheckURL(raw, public)
		assert.Result(t, got, err, want, raw)
	}
	for raw, want := range map[string]InvalidURLError{
		"":                         NotAURL,
		"example.com/hooks":        NotAURL,
		"https:example.com":        NotAURL,
		"https://example.com/\n":   NotAURL,
		"https://exa mple.com/":    NotAURL,
		"https://[::1/":            NotAURL,
		"https://example.com:x/":   NotAURL,
		"http://example.com/":      NotHTTPS,
		"ftp://example.com/":       NotHTTPS,
		"https://u@example.com/":   HasUser,
		"https://u:p@example.com/": HasUser,
		"https://@example.com/":    HasUser,
		"https://example.com/#a":   HasFragment,
		"https://example.com/#":    HasFragment,
		long + "a":                 TooLong,
		"https:///hooks":           BadHost,
		"https://.example.com/":    BadHost,
		"https://a_b.example.com/": BadHost,
		"https://-a.example.com/":  BadHost,
		"https://exa%00mple.com/":  NotAURL,
		"https://a..example.com/":  BadHost,
		"https://" + strings.Repeat("a", 64) + ".example/":  BadHost,
		"https://" + strings.Repeat("a.", 130) + "example/": BadHost,
		"https://[fe80::1%25eth0]/":                         HasZone,
		"https://[2606:4700::1111%25a]/":                    HasZone,
		"https://example.com:80/":                           RefusedPort,
		"https://example.com:0/":                            RefusedPort,
		"https://example.com:65979/":                        RefusedPort, // 443 in 16 bits
		"https://10.0.0.1/":                                 RefusedAddress,
		"https://93.184.216.34/":                            RefusedAddress,
		"https://[2606:2800::1]/":                           RefusedAddress,
		"https://[::ffff:10.0.0.1]/":                        RefusedAddress,
		"https://2130706433/":                               RefusedAddress,
		"https://0x7f000001/":                               RefusedAddress,
		"https://0177.0.0.1/":                               RefusedAddress,
		"https://127.1/":                                    RefusedAddress,
		"https://127.0.0.1./":                               RefusedAddress,
		"https://１２７.0.0.1/":                                RefusedAddress,
		"https://a.0x1/":                                    RefusedAddress,
		"https://a.09/":                                     RefusedAddress,
	} {
		_, err := CheckURL(raw, public)
		assert.Equal(t, err, error(want), raw)
	}
}

// TestLocalRules: petstore dev also allows http, other ports, and this machine, but no network.
func TestLocalRules(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"http://localhost:3000/hooks", "http://127.0.0.1:9/", "http://[::1]:9/", "https://example.com/",
	} {
		got, err := CheckURL(raw, LocalRules())
		assert.Result(t, got, err, raw, raw)
	}
	_, err := CheckURL("http://10.0.0.1:80/", LocalRules())
	assert.Equal(t, err, error(RefusedAddress))
}

func TestCheckEvents(t *testing.T) {
	t.Parallel()
	for _, events := range [][]string{{AllEvents}, {"key.issued"}, Types} {
		assert.NoError(t, CheckEvents(events))
	}
	assert.NoError(t, CheckEvents([]string{"*", "pet.created"}))
	const twice = "a type of event is named twice"
	assert.Equal(t, fmt.Sprint(CheckEvents(nil)), `name at least one type of event, or "*"`)
	assert.Equal(t, fmt.Sprint(CheckEvents([]string{"*", "*"})), twice)
	assert.Equal(t, fmt.Sprint(CheckEvents([]string{"key.issued", "key.issued"})), twice)
	for _, unknown := range []string{"", "key.*", "moon.rising", Ping, EventsDropped} {
		err := CheckEvents([]string{"key.issued", unknown})
		assert.Equal(t, fmt.Sprint(err), fmt.Sprintf("there is no type of event %q", unknown))
	}
}
