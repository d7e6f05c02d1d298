package account

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
)

// Keys has the tenants' own keys. The requester is the digest of a sign-in.
type Keys interface {
	// ListKeys returns keys, the newest first.
	ListKeys(
		ctx context.Context,
		tenantID int64,
		requester keys.Digest,
		q keys.CustomerQuery,
	) ([]keys.CustomerKey, error)
	// ChangeKey makes a change and returns the key, or the new key for a rotation. With once, the
	// change is made only once.
	ChangeKey(
		ctx context.Context,
		tenantID int64,
		requester keys.Digest,
		c keys.CustomerChange,
		once *catalog.Idempotency,
	) (keys.CustomerKey, error)
}

const (
	// shownKeys is the most active keys that the page shows, more than a tenant can have.
	// shownEnded is the most ended keys that it shows.
	shownKeys, shownEnded = 100, 20
	// freshSignIn is the maximum age of a sign-in that makes a key with all rights of the page.
	freshSignIn = 15 * time.Minute
)

// shownKey is a key with its status.
type shownKey struct {
	keys.CustomerKey
	Is keys.Status
	// Once is for the form that rotates the key, Form for the one that changes it.
	Once string
	Form keyForm
	// SignedIn is true for the key of the sign-in.
	SignedIn bool
	// MadeItself is true if the key has made its replacement, ReplacedBy, by rotating itself.
	MadeItself bool
}

func (v *visit) keys() error { return v.showKeys(newKey) }

// showKeys shows each key with its form, and the form for a new key. form, with what was typed,
// replaces one of these forms.
func (v *visit) showKeys(form keyForm) error {
	active, err := v.listKeys(shownKeys, keys.Active, keys.Banned)
	if err != nil {
		return err
	}
	ended, err := v.listKeys(shownEnded, keys.Revoked, keys.Expired)
	if err != nil {
		return err
	}
	data := struct {
		Problems      []string
		Form          keyForm
		Active, Ended []shownKey
	}{Problems: form.Problems, Form: form}
	if form.ID != "" {
		data.Form = newKey
	}
	if data.Form.Once == "" {
		data.Form.Once, _ = keys.NewSecret()
	}
	data.Form.From = v.client().String()
	for _, k := range append(active, ended...) {
		s := shownKey{CustomerKey: k, Is: k.Status(v.now), Form: formOf(k), SignedIn: k.ID == v.who.KeyID}
		s.Once, _ = keys.NewSecret()
		if k.ID == form.ID {
			// If the form is sent again, it applies to the key as shown now.
			s.Form = form
			s.Form.Version = k.Version
		}
		s.Form.From = data.Form.From
		s.MadeItself = slices.ContainsFunc(
			active,
			func(o keys.CustomerKey) bool { return o.Replaces == k.ID && o.IssuedBy == k.ID },
		)
		if k.Valid(v.now) {
			data.Active = append(data.Active, s)
		} else {
			data.Ended = append(data.Ended, s)
		}
	}
	return v.show("keys", data)
}

// listKeys returns the newest keys with one of these statuses.
func (v *visit) listKeys(most int, statuses ...keys.Status) (all []keys.CustomerKey, err error) {
	for _, status := range statuses {
		list, err := v.Keys.ListKeys(
			v.Context(),
			v.who.Tenant.ID,
			v.session,
			keys.CustomerQuery{Status: status, At: v.now, Limit: most},
		)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	slices.SortStableFunc(all, func(a, b keys.CustomerKey) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return all[:min(most, len(all))], nil
}

// issueKey makes a key.
func (v *visit) issueKey() error {
	form, edit := v.read(keys.CustomerKey{})
	id, err := keys.NewID()
	if err != nil {
		return err
	}
	return v.submit(form, func() error {
		return v.makeKey(keys.CustomerChange{Action: "key.issue", ID: id, NewID: id, Edit: edit}, form.Once)
	})
}

// editKey changes a key, unless it has changed since the form was made. Only changed fields are
// written.
func (v *visit) editKey() error {
	k, err := v.findKey(v.PostFormValue("id"))
	if err == nil && !k.Valid(v.now) {
		err = keys.ErrKeyInactive
	}
	if err != nil {
		return v.refuseChange(err)
	}
	form, edit := v.read(k)
	if form.Version != k.Version {
		form.Problems = []string{keyProblem(keys.ErrKeyChanged)}
	}
	return v.submit(form, func() error {
		_, err := v.changeKey(keys.CustomerChange{Action: "key.edit", ID: k.ID, Edit: edit, Version: form.Version}, nil)
		if err == nil {
			v.redirect("/account/keys")
		}
		return err
	})
}

// submit makes the change of a form. Errors are shown above the keys, and the form keeps what was
// typed.
func (v *visit) submit(form keyForm, change func() error) error {
	var err error
	if len(form.Problems) == 0 {
		err = change()
		problem := keyProblem(err)
		if problem == "" {
			return err
		}
		form.Problems = append(form.Problems, problem)
	}
	v.refused(err, http.StatusBadRequest)
	return v.showKeys(form)
}

// errManyChanges: the tenant has used up its changes of keys and webhooks in this minute.
var errManyChanges = errors.New("too many changes")

// counted makes a change of a key or webhook. As with the API, refused changes do not count.
func (v *visit) counted(change func() error) error {
	tenant := v.who.Tenant.ID
	if reset, over := v.KeyChanges.Take(tenant, keys.MaxChanges, v.now); over {
		v.header.Set("Retry-After", strconv.FormatInt(limits.RetryAfter(reset, v.now), 10))
		return errManyChanges
	}
	err := change()
	if err != nil {
		v.KeyChanges.Return(tenant, v.now)
	}
	return err
}

// changeKey makes a change. As with /v1/keys, revocations are never limited.
func (v *visit) changeKey(c keys.CustomerChange, once *catalog.Idempotency) (k keys.CustomerKey, err error) {
	c.From = v.client()
	change := func() (err error) {
		k, err = v.Keys.ChangeKey(v.Context(), v.who.Tenant.ID, v.session, c, once)
		return err
	}
	if c.Action == "key.revoke" {
		err = change()
	} else {
		err = v.counted(change)
	}
	return k, err
}

// refused sets the status of a refusal.
func (v *visit) refused(err error, status int) {
	if errors.Is(err, keys.ErrManyKeysMade) {
		v.header.Set(
			"Retry-After",
			strconv.FormatInt(limits.RetryAfter(limits.DayReset(limits.DayAt(v.now)), v.now), 10),
		)
	}
	if v.status = status; errors.Is(err, errManyChanges) || errors.Is(err, keys.ErrManyKeysMade) {
		v.status = http.StatusTooManyRequests
	}
}

// findKey returns a key of the tenant.
func (v *visit) findKey(id string) (keys.CustomerKey, error) {
	if !keys.IsID(id) {
		return keys.CustomerKey{}, keys.ErrKeyNotFound
	}
	found, err := v.Keys.ListKeys(
		v.Context(),
		v.who.Tenant.ID,
		v.session,
		keys.CustomerQuery{ID: id, At: v.now, Limit: 1},
	)
	if err == nil && len(found) == 0 {
		err = keys.ErrKeyNotFound
	}
	if err != nil {
		return keys.CustomerKey{}, err
	}
	return found[0], nil
}

const staleSignIn = "A key with the scope manage is made, rotated and given other addresses or another end, and " +
	"another key gets that scope, within 15 minutes of a sign-in only: sign out, and in again."

// isFresh reports whether the sign-in began a short while ago. So a cookie that is stolen later
// makes no key that outlives it.
func (v *visit) isFresh() bool { return v.now.Sub(v.who.At) < freshSignIn }

// makeKey issues or rotates a key, once, and shows the new plaintext.
func (v *visit) makeKey(c keys.CustomerChange, once string) (err error) {
	if len(once) != secretLength {
		return v.message(http.StatusBadRequest, "badForm")
	}
	if c.Token, err = keys.NewToken(v.who.Environment); err != nil {
		return err
	}
	k, err := v.changeKey(c, v.once(once))
	if err != nil {
		return err
	}
	return v.show("key", struct {
		keys.CustomerKey
		Secret   string
		Grace    time.Duration
		SignedIn bool
	}{k, c.Token.Reveal(), c.GracePeriod, c.ID == v.who.KeyID})
}

// once lets a form take effect once. A reloaded page sends the same form.
func (v *visit) once(key string) *catalog.Idempotency {
	fingerprint := sha256.Sum256([]byte(v.PostForm.Encode()))
	return &catalog.Idempotency{Method: v.Method, Path: v.URL.Path, Key: key, Fingerprint: fingerprint, At: v.now}
}

// readGrace reads how long what is rotated goes on, in hours.
func (v *visit) readGrace() (grace time.Duration, ok bool) {
	hours, err := strconv.ParseUint(v.PostFormValue("grace"), 10, 8)
	grace = time.Duration(hours) * time.Hour
	return grace, err == nil && grace <= keys.MaxGracePeriod
}

// rotateKey replaces a key.
func (v *visit) rotateKey() error {
	k, err := v.findKey(v.PostFormValue("id"))
	if err != nil {
		return v.refuseChange(err)
	}
	grace, ok := v.readGrace()
	if !ok {
		return v.message(http.StatusBadRequest, "badForm")
	}
	if k.Scope == keys.ScopeManage && !v.isFresh() {
		v.status = http.StatusForbidden
		return v.showKeys(keyForm{Scope: newKey.Scope, Problems: []string{staleSignIn}})
	}
	c := keys.CustomerChange{Action: "key.rotate", ID: k.ID, GracePeriod: grace}
	if v.PostForm.Has("expires") {
		var problem string
		if c.Edit.ExpiresAt, problem = v.readExpiry(k); problem != "" {
			v.status = http.StatusBadRequest
			return v.showKeys(keyForm{Scope: newKey.Scope, Problems: []string{problem}})
		}
	}
	if c.NewID, err = keys.NewID(); err != nil {
		return err
	}
	return v.refuseChange(v.makeKey(c, v.PostFormValue("once")))
}

// revokeKey ends a key.
func (v *visit) revokeKey() error {
	reason := strings.TrimSpace(v.PostFormValue("reason"))
	if reason != "" && keys.TextProblem(reason, keys.MaxReason) != "" {
		return v.message(http.StatusBadRequest, "badForm")
	}
	c := keys.CustomerChange{
		Action:       "key.revoke",
		ID:           v.PostFormValue("id"),
		Reason:       reason,
		Replacements: v.PostFormValue("replacements") != "",
	}
	_, err := v.changeKey(c, nil)
	if err != nil {
		return v.refuseChange(err)
	}
	to := "/account/keys"
	if c.ID == v.who.KeyID {
		to = "/account/sign-in?ended=key"
	}
	v.redirect(to)
	return nil
}

// refuseChange shows above the keys why a change is refused. It returns any other error.
func (v *visit) refuseChange(err error) error {
	problem := keyProblem(err)
	switch {
	case errors.Is(err, keys.ErrKeyNotFound):
		return v.message(http.StatusNotFound, "noKey")
	case problem == "":
		return err
	}
	v.refused(err, http.StatusConflict)
	return v.showKeys(keyForm{Scope: newKey.Scope, Problems: []string{problem}})
}

const manyChanges = "Your keys and webhooks were changed 60 times in this minute, here and by the API. " +
	"Send it again in a minute."

// keyProblem says why a change of keys was refused, "" for another error.
func keyProblem(err error) string {
	if issued := (*keys.AlreadyIssuedError)(nil); errors.As(err, &issued) {
		return "This form was sent before, and made the key " + issued.ID +
			", which is not shown again. If you have not copied it, revoke it and make another one."
	}
	if rotated := (*keys.AlreadyRotatedError)(nil); errors.As(err, &rotated) {
		return "That key was rotated already: " + rotated.ID + " takes its place. Rotate that one, or revoke it first."
	}
	for refusal, text := range map[error]string{
		errManyChanges: manyChanges,
		keys.ErrManyKeysMade: "You have made 200 keys today, as many as a UTC day allows. Make the next one " +
			"tomorrow, or ask our support.",
		keys.ErrTooManyKeys: "You have 10 active keys already that were not rotated: revoke one first.",
		keys.ErrLastManageKey: "It is your last key with the scope manage that works from your address, and for 7 " +
			"days or as long as it does. Rotate it, or make another one, before you revoke or narrow it.",
		keys.ErrKeyChanged: "The key was changed after you opened this page. Compare what it has now " +
			"with what you typed, and send it again.",
		keys.ErrKeyInactive: "That key has been revoked or has expired.",
		keys.ErrExpiryPast:  "Expires: a day in the future.",
		keys.ErrStaleSignIn: staleSignIn,
		keys.ErrBannedSignIn: "The key by which you are signed in is banned. Until the ban ends you can rotate keys, " +
			"which are then banned as long, and revoke them, but make none.",
		catalog.ErrIdempotencyKeyReused: "This form was sent before with other values. Send it again.",
	} {
		if errors.Is(err, refusal) {
			return text
		}
	}
	return ""
}
