package account

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
)

// Keys has the keys of tenants for themselves. The asker is the digest of a sign-in.
type Keys interface {
	// ListKeys returns keys, the newest first.
	ListKeys(ctx context.Context, tenantID int64, asker keys.Digest, q keys.OwnQuery) ([]keys.Own, error)
	// ChangeKey makes a change, with once only once, and returns the key: of a rotation, the new one.
	ChangeKey(ctx context.Context, tenantID int64, asker keys.Digest, c keys.OwnChange, once *catalog.Idempotency) (keys.Own, error)
}

const (
	// shownKeys is how many keys the page has.
	shownKeys = 100
	// freshSignIn is how old a sign-in may be that makes a key which may do all that the page can.
	freshSignIn = 15 * time.Minute

	maxKeyName, maxReason = 100, 200
)

// keyForm is what was typed for a new key. Once tells a form that is sent again.
type keyForm struct {
	Name, Scope, Addresses, Expires, PerMinute, Once string
	Confirmed                                        bool
	// LocksOut is true if the addresses do not contain the client's, which is From.
	LocksOut bool
	From     string
	Problems []string
}

// shownKey is a key with its status.
type shownKey struct {
	keys.Own
	Is keys.Status
	// Once is that of the key's form.
	Once string
}

func (v *visit) keys() error { return v.showKeys(keyForm{Scope: string(keys.ScopeWrite)}) }

// showKeys shows the keys, and the form for another one.
func (v *visit) showKeys(form keyForm) error {
	list, err := v.Keys.ListKeys(v.Context(), v.who.Tenant.ID, v.session, keys.OwnQuery{At: v.now, Limit: shownKeys})
	if err != nil {
		return err
	}
	if form.Once == "" {
		form.Once, _ = keys.NewSecret()
	}
	form.From = v.client().String()
	data := struct {
		Form          keyForm
		Active, Ended []shownKey
	}{Form: form}
	for _, k := range list {
		s := shownKey{Own: k, Is: k.Status(v.now)}
		s.Once, _ = keys.NewSecret()
		if k.Valid(v.now) {
			data.Active = append(data.Active, s)
		} else {
			data.Ended = append(data.Ended, s)
		}
	}
	return v.show("keys", data)
}

// issueKey makes a key. What is wrong is said above the form, which keeps what was typed.
func (v *visit) issueKey() error {
	form := keyForm{
		Name: strings.TrimSpace(v.PostFormValue("name")), Scope: v.PostFormValue("scope"), Addresses: v.PostFormValue("addresses"),
		Expires: v.PostFormValue("expires"), PerMinute: strings.TrimSpace(v.PostFormValue("per-minute")), Once: v.PostFormValue("once"),
		Confirmed: v.PostFormValue("confirm") != "",
	}
	edit := v.read(&form)
	if len(form.Problems) == 0 {
		id, err := keys.NewID()
		if err != nil {
			return err
		}
		err = v.makeKey(keys.OwnChange{Action: "key.issue", ID: id, NewID: id, Edit: edit}, form.Once)
		problem := keyProblem(err)
		if problem == "" {
			return err
		}
		form.Problems = append(form.Problems, problem)
	}
	v.status = http.StatusBadRequest
	return v.showKeys(form)
}

// read reads the form, and adds what is wrong with it.
func (v *visit) read(form *keyForm) keys.Edit {
	wrong := func(is bool, text string) {
		if is {
			form.Problems = append(form.Problems, text)
		}
	}
	scope := keys.Scope(form.Scope)
	wrong(form.Name == "" || utf8.RuneCountInString(form.Name) > maxKeyName || keys.CheckText(form.Name) != nil,
		"Name: 1 to 100 characters, without control characters and without an API key.")
	wrong(scope != keys.ScopeRead && scope != keys.ScopeWrite && scope != keys.ScopeManage, "Scope: choose one.")
	wrong(scope == keys.ScopeManage && !v.isFresh(), staleSignIn)
	allowed, err := keys.ParseRanges(strings.FieldsFunc(form.Addresses, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }))
	if err != nil {
		wrong(true, "Addresses: "+err.Error())
	} else if access, err := keys.NewAccess(scope, allowed); err == nil {
		form.LocksOut = !access.From(v.client())
		wrong(form.LocksOut && !form.Confirmed, "Addresses: yours, "+v.client().String()+", is not among them. Confirm that if it is right.")
	}
	e := keys.Edit{Name: &form.Name, Scope: &scope, Allowed: &allowed}
	if form.Expires != "" {
		at, err := time.Parse(time.DateOnly, form.Expires)
		wrong(err != nil || !at.After(v.now) || at.Year() > 9999, "Expires: a day in the future, such as "+v.now.AddDate(1, 0, 0).Format(time.DateOnly)+".")
		e.ExpiresAt = &at
	}
	if form.PerMinute != "" {
		n, err := strconv.ParseInt(form.PerMinute, 10, 64)
		wrong(err != nil || n < 1, "Requests per minute: a number from 1 on, or nothing.")
		e.PerMinute = &n
	}
	return e
}

const staleSignIn = "A key with the scope manage is made within 15 minutes of a sign-in only: sign out, and in again."

// isFresh reports whether the sign-in began a moment ago: a cookie that was stolen later makes no key that outlives it.
func (v *visit) isFresh() bool { return v.now.Sub(v.who.At) < freshSignIn }

// makeKey makes a key by an issue or a rotation, once, and shows its plaintext.
func (v *visit) makeKey(c keys.OwnChange, once string) (err error) {
	if len(once) != secretLength {
		return v.message(http.StatusBadRequest, "badForm")
	}
	if c.Token, err = keys.NewToken(v.who.Environment); err != nil {
		return err
	}
	// A page that is loaded again sends the same form.
	fingerprint := sha256.Sum256([]byte(v.PostForm.Encode()))
	k, err := v.Keys.ChangeKey(v.Context(), v.who.Tenant.ID, v.session, c,
		&catalog.Idempotency{Method: v.Method, Path: v.URL.Path, Key: once, Fingerprint: fingerprint, At: v.now})
	if err != nil {
		return err
	}
	return v.show("key", struct {
		keys.Own
		Secret string
		Grace  time.Duration
	}{k, c.Token.Reveal(), c.GracePeriod})
}

// rotateKey replaces a key.
func (v *visit) rotateKey() error {
	id, hours := v.PostFormValue("id"), v.PostFormValue("grace")
	grace, err := strconv.Atoi(hours)
	if !keys.IsID(id) {
		return v.refuseChange(keys.ErrKeyNotFound)
	}
	if err != nil || grace < 0 || time.Duration(grace)*time.Hour > keys.MaxGracePeriod {
		return v.message(http.StatusBadRequest, "badForm")
	}
	found, err := v.Keys.ListKeys(v.Context(), v.who.Tenant.ID, v.session, keys.OwnQuery{ID: id, At: v.now, Limit: 1})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return v.refuseChange(keys.ErrKeyNotFound)
	}
	if found[0].Scope == keys.ScopeManage && !v.isFresh() {
		v.status = http.StatusForbidden
		return v.showKeys(keyForm{Scope: string(keys.ScopeWrite), Problems: []string{staleSignIn}})
	}
	newID, err := keys.NewID()
	if err != nil {
		return err
	}
	return v.refuseChange(v.makeKey(keys.OwnChange{Action: "key.rotate", ID: id, NewID: newID, GracePeriod: time.Duration(grace) * time.Hour}, v.PostFormValue("once")))
}

// revokeKey ends a key.
func (v *visit) revokeKey() error {
	reason := strings.TrimSpace(v.PostFormValue("reason"))
	if utf8.RuneCountInString(reason) > maxReason || keys.CheckText(reason) != nil {
		return v.message(http.StatusBadRequest, "badForm")
	}
	c := keys.OwnChange{Action: "key.revoke", ID: v.PostFormValue("id"), Reason: reason}
	_, err := v.Keys.ChangeKey(v.Context(), v.who.Tenant.ID, v.session, c, nil)
	if err != nil {
		return v.refuseChange(err)
	}
	v.redirect("/account/keys")
	return nil
}

// refuseChange shows why a change is refused, above the keys. It returns other errors.
func (v *visit) refuseChange(err error) error {
	problem := keyProblem(err)
	switch {
	case errors.Is(err, keys.ErrKeyNotFound):
		return v.message(http.StatusNotFound, "noKey")
	case problem == "":
		return err
	}
	v.status = http.StatusConflict
	return v.showKeys(keyForm{Scope: string(keys.ScopeWrite), Problems: []string{problem}})
}

// keyProblem says why a change of keys was refused, "" for another error.
func keyProblem(err error) string {
	if issued := (*keys.AlreadyIssuedError)(nil); errors.As(err, &issued) {
		return "This form was sent before, and made the key " + issued.ID + ", which is not shown again. If you have not copied it, revoke it and make another one."
	}
	for refusal, text := range map[error]string{
		keys.ErrTooManyKeys:             "You have 10 active keys already: revoke one first.",
		keys.ErrLastManageKey:           "It is your last key with the scope manage. Rotate it, or make another one before you revoke it.",
		keys.ErrKeyInactive:             "That key has been revoked or has expired.",
		keys.ErrExpiryPast:              "Expires: a day in the future.",
		catalog.ErrIdempotencyKeyReused: "This form was sent before with other values. Send it again.",
	} {
		if errors.Is(err, refusal) {
			return text
		}
	}
	return ""
}
