package account_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"petstore.example/internal/mail"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
)

// TestMailLinks: a link opens a page that changes nothing, and its button confirms or unsubscribes
// the address that it was made for, without a cookie. A link of another address, tenant or kind does
// nothing.
func TestMailLinks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	links := mail.NewLinks("https://api.example.com/v1", [][]byte{[]byte("key")})
	address := "ops@acme.example"
	_, _, err := s.staff.Tenants.Edit(t.Context(), by, "acme", tenancy.TenantEdit{Email: &address})
	assert.NoError(t, err)
	tenant, err := s.staff.Tenants.Get(t.Context(), "acme")
	assert.NoError(t, err)
	support := fixture.Connect(t, s.supportURL)
	state := func() (state string) {
		assert.NoError(t, support.Get(&state, `select state from mailboxes`))
		return state
	}
	path := func(kind mail.LinkKind, tenant int64, address string) string {
		return strings.TrimPrefix(links.URL(kind, tenant, address), "https://api.example.com")
	}
	confirm := path(mail.ToConfirm, tenant.ID, address)
	end := path(mail.ToUnsubscribe, tenant.ID, address)
	for _, link := range []string{confirm, end} {
		for _, method := range []string{"GET", "HEAD"} {
			r := s.do(method, link, nil, nil, "Sec-Fetch-Site", "cross-site")
			body := text(t, r)
			assert.Equal(t, r.StatusCode, 200)
			assert.True(t, method == "HEAD" || strings.Contains(body, `method="post" action="`+link+`"`), body)
		}
	}
	assert.Equal(t, state(), "waiting", "after the pages")
	for _, wrong := range []string{
		path(mail.ToConfirm, tenant.ID, "other@acme.example"), path(mail.ToConfirm, tenant.ID+1, address),
		strings.Replace(end, "unsubscribe", "confirm", 1), confirm + "x", "/account/mail/confirm",
	} {
		r := s.do("POST", wrong, nil, nil)
		assert.True(t, r.StatusCode == 404 && strings.Contains(text(t, r), "No such link"), wrong, r.StatusCode)
	}
	r := s.do("POST", confirm, nil, nil, "Sec-Fetch-Site", "cross-site")
	assert.Equal(t, r.StatusCode, http.StatusForbidden, "from another site")
	assert.Equal(t, state(), "waiting")
	r = s.do("POST", confirm, nil, nil)
	assert.True(t, r.StatusCode == 200 && strings.Contains(text(t, r), "The address is confirmed"), r.StatusCode)
	assert.Equal(t, state(), "confirmed")

	oneClick := url.Values{"List-Unsubscribe": {"One-Click"}}
	for _, headers := range [][]string{
		{"Sec-Fetch-Site", ""}, {"Sec-Fetch-Site", "cross-site", "Origin", "https://mail.example"}, nil,
	} {
		assert.Equal(t, s.do("POST", confirm, nil, nil).StatusCode, 200)
		r = s.do("POST", end, oneClick, nil, headers...)
		assert.True(t, r.StatusCode == 200 && strings.Contains(text(t, r), "No more mail"), headers, r.StatusCode)
		assert.Equal(t, state(), "unsubscribed", headers)
	}
	address = "new@acme.example"
	_, _, err = s.staff.Tenants.Edit(t.Context(), by, "acme", tenancy.TenantEdit{Email: &address})
	assert.NoError(t, err)
	assert.Equal(t, s.do("POST", confirm, nil, nil).StatusCode, 404, "of the former address")
	assert.Equal(t, state(), "waiting")
}
