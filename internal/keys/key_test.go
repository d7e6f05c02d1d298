package keys_test

import (
	"regexp"
	"testing"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

func TestNewID(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^key_[0-9A-Za-z]{16}$`)
	seen := map[string]bool{}
	for range 1000 {
		id, err := keys.NewID()
		assert.NoError(t, err)
		if !form.MatchString(id) || !keys.IsID(id) || keys.IsID(id[:19]) || keys.IsID(id[4:]) || seen[id] {
			t.Fatalf("%s has not the form of an id, or came twice", id)
		}
		seen[id] = true
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		caller keys.Caller
		want   keys.Status
	}{
		"good":                   {keys.Caller{}, keys.Active},
		"banned":                 {keys.Caller{Ban: &keys.Ban{EndsAt: now.Add(time.Hour)}}, keys.Active},
		"expires in an instant":  {keys.Caller{ExpiresAt: now.Add(1)}, keys.Active},
		"expires now":            {keys.Caller{ExpiresAt: now}, keys.Expired},
		"revoked":                {keys.Caller{RevokedAt: now.Unix()}, keys.Revoked},
		"revoked and expired":    {keys.Caller{RevokedAt: now.Unix(), ExpiresAt: now}, keys.Revoked},
		"of a suspended tenant":  {keys.Caller{Tenant: &plans.Tenant{SuspendedAt: now}}, keys.TenantSuspended},
		"of another environment": {keys.Caller{Environment: keys.Test}, keys.OtherEnvironment},
	} {
		if c.caller.Tenant == nil {
			c.caller.Tenant = &plans.Tenant{}
		}
		if c.caller.Environment == "" {
			c.caller.Environment = keys.Live
		}
		if of := c.caller.Environment; of == keys.Test && c.caller.Status(keys.AnyEnvironment, now) != keys.Active {
			t.Errorf("a caller %s: not active on a server for both", name)
		}
		assert.Equal(t, c.caller.Status(keys.Live, now), c.want, "a caller", name)
		key := keys.Key{ExpiresAt: c.caller.ExpiresAt}
		if c.caller.RevokedAt != 0 {
			key.RevokedAt = now
		}
		want := c.want
		if c.caller.Ban != nil {
			key.Ban, want = *c.caller.Ban, keys.Banned
		}
		if want == keys.TenantSuspended || want == keys.OtherEnvironment {
			want = keys.Active // Not a matter of the key.
		}
		assert.Equal(t, key.Status(now), want, "a key", name)
		assert.ErrorIs(t, keys.StatusError(want), keys.ErrInvalidKey, name)
	}
}
