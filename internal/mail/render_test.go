package mail

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/net/html"

	"petstore.example/internal/test/assert"
)

const base = "https://api.example.com/v1"

func links(keys ...string) *Links {
	all := [][]byte{}
	for _, k := range keys {
		all = append(all, []byte(k))
	}
	return NewLinks(base, all)
}

// tokenOf returns what a link has.
func tokenOf(t *testing.T, link string, kind LinkKind) string {
	t.Helper()
	u, err := url.Parse(link)
	assert.NoError(t, err)
	assert.Equal(t, u.Scheme+"://"+u.Host+u.Path, "https://api.example.com/account/mail/"+string(kind))
	return u.Query().Get(TokenParameter)
}

// TestLinks: a link is read by whoever has its key, also as the second one, and names tenant and
// address. Nothing else is.
func TestLinks(t *testing.T) {
	t.Parallel()
	l := links("new", "old")
	const address = "ops@acme.example"
	digest := sha256.Sum256([]byte(address))
	for _, made := range []*Links{l, links("old")} {
		token := tokenOf(t, made.URL(ToConfirm, 1<<62+7, address), ToConfirm)
		tenant, of, ok := l.Read(ToConfirm, token)
		assert.True(t, ok && tenant == 1<<62+7 && bytes.Equal(of, digest[:]), tenant, of, ok)
		_, _, ok = l.Read(ToUnsubscribe, token)
		assert.True(t, !ok, "of another kind")
		_, _, ok = links("third").Read(ToConfirm, token)
		assert.True(t, !ok, "with another key")
		for i := range len(token) {
			b := []byte(token)
			b[i] ^= 1
			_, _, ok = l.Read(ToConfirm, string(b))
			assert.True(t, !ok, "changed at", i)
		}
		for _, token := range []string{"", token[1:], token + "AAAA", strings.Repeat("A", len(token))} {
			_, _, ok = l.Read(ToConfirm, token)
			assert.True(t, !ok, token)
		}
	}
}

func notice(kind, data string) Notice {
	return Notice{
		ID: uuid.New(), Kind: kind, TenantID: 7, Tenant: "acme", Address: "ops@acme.example", Token: "secret",
		Ends:  time.Date(2026, 11, 20, 10, 36, 48, 0, time.FixedZone("CET", 3600)),
		Event: fmt.Appendf(nil, `{"type":%q,"timestamp":"2026-11-20T09:21:48Z","data":%s}`, kind, data),
	}
}

// TestNotices: each kind says what happened, with one link to where it is shown. All but those that
// were asked for have one to unsubscribe.
func TestNotices(t *testing.T) {
	t.Parallel()
	file, err := txtar.ParseFile("testdata/notices.txtar")
	assert.NoError(t, err)
	seen := map[string]bool{}
	for _, f := range file.Files {
		kind := f.Name
		event, mail, _ := strings.Cut(string(f.Data), "\n")
		subject, body, _ := strings.Cut(mail, "\n\n")
		body = strings.ReplaceAll(body, "CONFIRM", links("k").URL(ToConfirm, 7, "ops@acme.example"))
		of := notice(kind, event)
		m, err := links("k").Render(of)
		assert.NoError(t, err)
		unsubscribe := ""
		want := body + "\nThis mail goes to the address of acme at Animal Store, https://api.example.com/account\n"
		if kind != Confirm && kind != Invite {
			unsubscribe = links("k").URL(ToUnsubscribe, 7, "ops@acme.example")
			want += "No more mail to this address: " + unsubscribe + "\n"
		}
		assert.Equal(t, m.Text, want, kind)
		assert.Equal(t, fmt.Sprint(m.ID, m.To, m.Subject, m.Unsubscribe),
			fmt.Sprint(of.ID, "ops@acme.example", subject, unsubscribe))
		text, hrefs := shown(t, m.HTML)
		lines := strings.Split(strings.TrimSpace(body), "\n\n")
		label, link, _ := strings.Cut(lines[len(lines)-1], ": ")
		for _, line := range append(lines[:len(lines)-1], label) {
			assert.Contains(t, text, line)
		}
		assert.Equal(t, strings.TrimSpace(strings.Join(hrefs, " ")),
			strings.TrimSpace(link+" https://api.example.com/account "+unsubscribe))
		seen[kind] = true
	}
	for kind := range events {
		assert.True(t, seen[kind], kind)
	}
	_, err = links("k").Render(notice("pet.created", "{}"))
	assert.True(t, err != nil, "a mail of an animal")
	l := NewLinks("http://localhost:8080/v1", [][]byte{{1}})
	m, err := l.Render(notice(Limit, "{}"))
	assert.True(
		t,
		err == nil && m.Unsubscribe == "" && strings.Contains(m.Text, "address: http://localhost:8080/account/"),
		m,
		err,
	)
}

// shown returns what a page shows, and where its links lead.
func shown(t *testing.T, text string) (all string, links []string) {
	t.Helper()
	z := html.NewTokenizer(strings.NewReader(text))
	for z.Next() != html.ErrorToken {
		switch token := z.Token(); {
		case token.Type == html.TextToken:
			all += token.Data
		case token.Data == "script" || token.Data == "img" || token.Data == "iframe":
			t.Errorf("<%s> in %s", token.Data, text)
		case token.Data == "a" && token.Type == html.StartTagToken:
			links = append(links, token.Attr[0].Val)
		}
	}
	return all, links
}

// TestNamesAreText: what people wrote adds no header, no line and no element.
func TestNamesAreText(t *testing.T) {
	t.Parallel()
	const evil = `<script>alert(1)</script><a href="https://evil.example">x</a>`
	n := notice("key.banned", `{"id":"key_1","name":"a\r\nBcc: x@y.example\n\n`+strings.ReplaceAll(evil, `"`, `\"`)+
		`","reason":"</p><img src=x>\u2028\u202e"}`)
	n.Tenant = "acme\r\n\r\n" + evil
	for _, n.Kind = range []string{"key.banned", Confirm, Invite} {
		m, err := links("k").Render(n)
		assert.NoError(t, err)
		assert.True(t, !strings.ContainsAny(m.Subject, "\r\n") && !strings.Contains(m.Text, "\r"), m.Subject, m.Text)
		for line := range strings.Lines(m.Text) {
			assert.True(t, !strings.HasPrefix(line, "Bcc") && !strings.HasPrefix(line, "<script"), m.Text)
		}
		_, hrefs := shown(t, m.HTML)
		for _, href := range hrefs {
			assert.True(t, strings.HasPrefix(href, "https://api.example.com/account"), href)
		}
	}
}
