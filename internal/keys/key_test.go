package keys_test

import (
	"errors"
	"regexp"
	"testing"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
)

func TestNewID(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^key_[0-9A-Za-z]{16}$`)
	seen := map[string]bool{}
	for range 1000 {
		id, err := keys.NewID()
		if err != nil {
			t.Fatal(err)
		}
		if !form.MatchString(id) || seen[id] {
			t.Fatalf("%s has not the form of an id, or came twice", id)
		}
		seen[id] = true
	}
}

func TestKeyStatus(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		key  keys.Key
		want string
	}{
		"for ever":                {keys.Key{}, "active"},
		"expires in an instant":   {keys.Key{ExpiresAt: now.Add(time.Nanosecond)}, "active"},
		"expires now":             {keys.Key{ExpiresAt: now}, "expired"},
		"revoked":                 {keys.Key{RevokedAt: now.Add(-time.Hour)}, "revoked"},
		"revoked before it ended": {keys.Key{RevokedAt: now.Add(-time.Hour), ExpiresAt: now}, "revoked"},
	} {
		if got := c.key.Status(now); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestCallerCheck(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		change func(*keys.Caller)
		want   error
	}{
		"good":                    {func(*keys.Caller) {}, nil},
		"banned, which is no 401": {func(c *keys.Caller) { c.Ban = &keys.Ban{EndsAt: now.Add(time.Hour)} }, nil},
		"expires in an instant":   {func(c *keys.Caller) { c.ExpiresAt = now.Add(1) }, nil},
		"expired":                 {func(c *keys.Caller) { c.ExpiresAt = now }, keys.ErrInvalidKey},
		"revoked":                 {func(c *keys.Caller) { c.Revoked = true }, keys.ErrInvalidKey},
		"of another deployment":   {func(c *keys.Caller) { c.Environment = keys.Test }, keys.ErrInvalidKey},
		"of a suspended tenant":   {func(c *keys.Caller) { c.Tenant.SuspendedAt = now }, keys.ErrInvalidKey},
	} {
		caller := keys.Caller{Environment: keys.Live, Tenant: &plans.Tenant{}}
		c.change(&caller)
		if got := caller.Check(keys.Live, now); !errors.Is(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
