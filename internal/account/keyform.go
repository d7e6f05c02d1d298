package account

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"petstore.example/internal/keys"
)

// keyForm is the content of a form for a key. ID and Version belong to the key to change, and are
// "" for a new one. Once is the same whenever the same form is sent.
type keyForm struct {
	ID, Version, Name, Scope, Addresses, Expires, PerMinute, Once string
	Confirmed                                                     bool
	// LocksOut is true if the addresses lock the client out. From is the client's address.
	LocksOut bool
	From     string
	Problems []string
}

// newKey is the form for another key.
var newKey = keyForm{Scope: string(keys.ScopeWrite)}

// formOf is the form of a key in its present state.
func formOf(k keys.CustomerKey) keyForm {
	f := keyForm{
		ID:        k.ID,
		Version:   k.Version,
		Name:      k.Name,
		Scope:     string(k.Scope),
		Addresses: strings.Join(k.Allowed.List(), "\n"),
		Expires:   dayOf(k.ExpiresAt),
	}
	if k.PerMinute != 0 {
		f.PerMinute = strconv.FormatInt(k.PerMinute, 10)
	}
	return f
}

// dayOf is the UTC day, "" for never.
func dayOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}

// read reads the form with its mistakes, and the changes that it makes to k; k is empty for a new
// key.
func (v *visit) read(k keys.CustomerKey) (form keyForm, e keys.Edit) {
	form = keyForm{
		ID:        k.ID,
		Version:   v.PostFormValue("version"),
		Name:      strings.TrimSpace(v.PostFormValue("name")),
		Scope:     v.PostFormValue("scope"),
		Addresses: v.PostFormValue("addresses"),
		Expires:   v.PostFormValue("expires"),
		PerMinute: strings.TrimSpace(v.PostFormValue("per-minute")),
		Once:      v.PostFormValue("once"),
		Confirmed: v.PostFormValue("confirm") != "",
	}
	wrong := func(is bool, text string) {
		if is {
			form.Problems = append(form.Problems, text)
		}
	}
	isNew := k.ID == ""
	if isNew || form.Name != k.Name {
		problem := keys.TextProblem(form.Name, keys.MaxName)
		wrong(problem != "" && (isNew || form.Name != ""), "Name: "+problem+".")
		e.Name = &form.Name
	}
	if scope := keys.Scope(form.Scope); isNew || scope != k.Scope {
		wrong(!slices.Contains(keys.Scopes, scope), "Scope: choose one.")
		wrong(scope == keys.ScopeManage && !v.isFresh(), staleSignIn)
		e.Scope = &scope
	}
	allowed, err := keys.ParseRanges(
		strings.FieldsFunc(form.Addresses, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }),
	)
	if err != nil {
		wrong(true, "Addresses: "+err.Error())
	} else if access, err := keys.NewAccess(keys.ScopeRead, allowed); err == nil && (isNew || allowed != k.Allowed) {
		form.LocksOut = v.mayLockOut(k) && !access.From(v.client())
		wrong(
			form.LocksOut && !form.Confirmed,
			"Addresses: yours, "+v.client().String()+", is not among them. Confirm that if it is right.",
		)
		e.Allowed = &allowed
	}
	var problem string
	e.ExpiresAt, problem = v.readExpiry(k)
	wrong(problem != "", problem)
	if form.PerMinute != formOf(k).PerMinute {
		e.PerMinute = new(int64)
		if form.PerMinute != "" {
			*e.PerMinute, err = strconv.ParseInt(form.PerMinute, 10, 64)
			wrong(err != nil || *e.PerMinute < 1, "Requests per minute: a number from 1 on, or nothing.")
		}
	}
	return form, e
}

// readExpiry reads when a key expires: zero for never, nil if the form has the key's present
// expiry. problem says what is wrong, "" for nothing.
func (v *visit) readExpiry(k keys.CustomerKey) (at *time.Time, problem string) {
	day := v.PostFormValue("expires")
	switch day {
	case dayOf(k.ExpiresAt):
		return nil, ""
	case "":
		return new(time.Time), ""
	}
	expires, err := time.Parse(time.DateOnly, day)
	if err != nil || !expires.After(v.now) || expires.Year() > 9999 {
		problem = "Expires: a day in the future, such as " + v.now.AddDate(1, 0, 0).Format(time.DateOnly) + "."
	}
	return &expires, problem
}

// mayLockOut reports whether the addresses of a key may lock out the person who is signed in. They
// may if the sign-in began with that key. They also may after a link, if the key manages keys: it
// may be the last that does.
func (v *visit) mayLockOut(k keys.CustomerKey) bool {
	return k.ID != "" && (k.ID == v.who.KeyID || v.who.KeyID == "" && k.Scope == keys.ScopeManage)
}
