package account

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
)

// cookieName returns a name whose prefix makes browsers bind the cookie to the host. On this
// machine, without HTTPS, some browsers would refuse that prefix. There the name has the port,
// because cookies do not tell the ports of two servers apart (RFC 6265, section 8.5).
func (v *visit) cookieName() string {
	if v.secure {
		return "__Host-petstore"
	}
	name := "petstore-account"
	if _, port, err := net.SplitHostPort(v.Host); err == nil && isNumber.MatchString(port) {
		name += "-" + port
	}
	return name
}

var isNumber = regexp.MustCompile(`^[0-9]{1,5}$`)

// setCookie keeps a secret until the browser exits; "" removes it.
func (v *visit) setCookie(secret string) {
	//nolint:gosec // It is not Secure only where signIn lets nobody but this machine in.
	c := &http.Cookie{
		Name:     v.cookieName(),
		Value:    secret,
		Path:     "/",
		HttpOnly: true,
		Secure:   v.secure,
		SameSite: http.SameSiteStrictMode,
	}
	if secret == "" {
		c.MaxAge = -1
	}
	v.header.Add("Set-Cookie", c.String())
}

// find finds the sign-in of the cookie. A page that refreshes itself does not prolong it.
func (v *visit) find() error {
	c, err := v.Cookie(v.cookieName())
	if err != nil {
		return keys.ErrNoSignIn
	}
	v.session = keys.DigestOf(c.Value)
	return v.use(!v.URL.Query().Has("refresh"))
}

// use reads the sign-in. A sign-in by a key is valid only where the key may be used.
func (v *visit) use(noted bool) error {
	var who keys.SignedIn
	err := v.turn(func(ctx context.Context) (err error) {
		who, err = v.SignIns.Use(ctx, v.session, v.now, noted)
		return err
	})
	if err != nil {
		return err
	}
	if !v.Environment.Accepts(who.Environment) || !who.Access.From(v.client()) {
		return keys.ErrNoSignIn
	}
	v.who = who
	return nil
}

// signInPage says why the page appears. Ended says what ended for a person who was signed in: "key"
// stands for the key of the sign-in.
type signInPage struct {
	Refused, FromElsewhere bool
	Ended                  string
}

func (v *visit) askForKey() error {
	// When a person follows a link from another site, such as a mail, the browser sends no cookie.
	// A link on this page leads to the same page, and with it the browser sends the cookie.
	fromElsewhere := v.Header.Get("Sec-Fetch-Site") == "cross-site"
	return v.show("sign-in", signInPage{FromElsewhere: fromElsewhere, Ended: v.URL.Query().Get("ended")})
}

func (v *visit) signInByKey() error {
	text := strings.TrimSpace(v.PostFormValue("key"))
	token, err := keys.ParseToken(text)
	return v.signIn(token.Digest(), err == nil)
}

func (v *visit) showInvitation() error {
	return v.show("invitation", nil)
}

// acceptInvitation takes the part after # in a link, which the page's script posts. A person
// without scripts may paste the whole link.
func (v *visit) acceptInvitation() error {
	token := strings.TrimSpace(v.PostFormValue("token"))
	token = token[strings.LastIndexByte(token, '#')+1:]
	return v.signIn(keys.DigestOf(token), len(token) == secretLength)
}

// secretLength is the length of a secret of keys.NewSecret.
const secretLength = 43

// signIn begins a sign-in with the key or invitation that has that digest. Whatever is wrong, the
// answer is the same.
func (v *visit) signIn(by keys.Digest, wellFormed bool) error {
	if !v.secure && !isLoopback(v.Host) {
		return v.message(http.StatusForbidden, "insecure")
	}
	if b := v.attempts.Take(v.client(), v.now); b.Reached {
		v.header.Set("Retry-After", strconv.FormatInt(limits.RetryAfter(b.Reset, v.now), 10))
		return v.message(http.StatusTooManyRequests, "tooMany")
	}
	former, _ := v.Cookie(v.cookieName())
	secret, session := keys.NewSecret()
	opened := false
	if wellFormed {
		err := v.turn(func(ctx context.Context) (err error) {
			opened, err = v.SignIns.Open(ctx, by, session, v.client(), v.Environment)
			return err
		})
		if err != nil {
			return err
		}
	}
	v.session = session
	if opened {
		err := v.use(false)
		if errors.Is(err, keys.ErrNoSignIn) {
			v.end(session) // The key was restricted in the meantime.
		} else if err != nil {
			return err
		}
	}
	if v.who.Tenant == nil {
		v.status = http.StatusForbidden
		return v.show("sign-in", signInPage{Refused: true})
	}
	if former != nil {
		v.end(keys.DigestOf(former.Value))
	}
	v.setCookie(secret)
	v.redirect("/account")
	return nil
}

// end ends a sign-in whose cookie the browser does not keep. Otherwise it would stay until it
// expires.
func (v *visit) end(session keys.Digest) {
	_ = v.turn(func(ctx context.Context) error { return v.SignIns.End(ctx, session, "") })
}

// isLoopback reports whether a Host is this machine.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && addr.IsLoopback()
}

func (v *visit) signOut() error {
	err := v.turn(func(ctx context.Context) error { return v.SignIns.End(ctx, v.session, "") })
	if err != nil {
		return err
	}
	v.setCookie("")
	v.header.Set("Clear-Site-Data", `"cache"`) // The browser's Back button then shows nothing.
	v.redirect("/account/sign-in")
	return nil
}

func (v *visit) signIns() error {
	var list []keys.SignIn
	err := v.turn(func(ctx context.Context) (err error) {
		list, err = v.SignIns.List(ctx, v.session)
		return err
	})
	if err != nil {
		return err
	}
	return v.show("sign-ins", list)
}

func (v *visit) endSignIn() error {
	id := v.PostFormValue("id")
	if id == "" || len(id) > 40 {
		return v.message(http.StatusNotFound, "noSignIn")
	}
	err := v.turn(func(ctx context.Context) error { return v.SignIns.End(ctx, v.session, strings.ToLower(id)) })
	if errors.Is(err, keys.ErrNoSignIn) {
		return v.message(http.StatusNotFound, "noSignIn")
	}
	v.redirect("/account/sign-ins")
	return err
}
