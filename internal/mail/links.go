package mail

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
)

// LinkKind is what a link does.
type LinkKind string

// The kinds of links, which are also the ends of their paths.
const (
	ToConfirm     LinkKind = "confirm"
	ToUnsubscribe LinkKind = "unsubscribe"
)

// LinksPath begins the paths of links, TokenParameter is the parameter with their token.
const (
	LinksPath      = "/account/mail/"
	TokenParameter = "t"
)

// Links makes and reads the links that confirm and unsubscribe an address. None is stored: a link has
// the tenant and the SHA-256 of its address, and a MAC of both. So it means nothing for another
// address.
type Links struct {
	site string
	keys [][]byte
}

// NewLinks returns links of the site at base, the public URL of the API. The first key makes links,
// and each can read them.
func NewLinks(base string, keys [][]byte) *Links {
	return &Links{strings.TrimSuffix(base, "/v1"), keys}
}

// linkBytes are those of a token: tenant, SHA-256 and MAC.
const linkBytes = 8 + 2*sha256.Size

// URL returns the link for the address of a tenant.
func (l *Links) URL(kind LinkKind, tenant int64, address string) string {
	of := sha256.Sum256([]byte(address))
	token := append(binary.BigEndian.AppendUint64(nil, uint64(tenant)), of[:]...)
	token = append(token, macOf(l.keys[0], kind, token)...)
	return l.site + LinksPath + string(kind) + "?" + TokenParameter + "=" + base64.RawURLEncoding.EncodeToString(token)
}

// Read returns the tenant and the SHA-256 of the address of a link's token. ok is false if URL did
// not make it for this kind.
func (l *Links) Read(kind LinkKind, token string) (tenant int64, address []byte, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) != linkBytes {
		return 0, nil, false
	}
	text, mac := b[:8+sha256.Size], b[8+sha256.Size:]
	if !slices.ContainsFunc(l.keys, func(key []byte) bool { return hmac.Equal(mac, macOf(key, kind, text)) }) {
		return 0, nil, false
	}
	return int64(binary.BigEndian.Uint64(text)), text[8:], true
}

func macOf(key []byte, kind LinkKind, text []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(kind))
	h.Write([]byte{0})
	h.Write(text)
	return h.Sum(nil)
}
