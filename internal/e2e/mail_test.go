package e2e_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/wait"
)

// mailed waits for a file of petstore dev with a mail about something.
func (d sending) mailed(subject string) (raw string) {
	d.t.Helper()
	wait.Until(d.t, "a mail: "+subject, func() bool {
		files, _ := filepath.Glob(filepath.Join(d.dir, "mail", "*.eml"))
		for _, file := range files {
			if raw = programs.Read(d.t, file); strings.Contains(raw, "Subject: "+subject) {
				info, err := os.Stat(file)
				assert.NoError(d.t, err)
				assert.Equal(d.t, info.Mode().Perm(), 0o600, file)
				return true
			}
		}
		return false
	})
	return raw
}

var confirmLink = regexp.MustCompile(`http://\S+/account/mail/confirm\?t=[\w-]+`)

// TestDeadEndpointsAreFoundByMail: petstore dev writes the mail that asks an address to confirm. When
// its link was used and a webhook has failed for a day, it writes the one that says so.
func TestDeadEndpointsAreFoundByMail(t *testing.T) {
	t.Parallel()
	d := newSending(t)
	s := d.serve()
	tn := d.tenant(plans.Pro, nil, 1)
	d.exec(`update tenants set email = 'ops@acme.example' where id = $1`, tn.ID)
	text := strings.NewReplacer("=\r\n", "", "=3D", "=").Replace(d.mailed("Confirm this address for " + tn.Name))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, confirmLink.FindString(text), nil)
	assert.NoError(t, err)
	req.Header.Set("Origin", strings.TrimSuffix(s.URL, "/v1"))
	resp, err := http.DefaultClient.Do(req)
	assert.NoError(t, err)
	assert.NoError(t, resp.Body.Close())
	assert.Equal(t, resp.StatusCode, http.StatusOK, "the link of the mail")

	d.endpoint(tn, newTold(t), "*")
	d.exec(`update endpoints set failing_since = now() - interval '25 hours', url = 'http://127.0.0.1:9/hook'`)
	d.exec(`select emit($1, 'live', 'tenant.resumed', '{}')`, tn.ID)
	wait.Until(t, "an attempt has failed", func() bool {
		return d.number(`select count(*) from endpoints where noticed_at is not null`) > 0
	})
	d.exec(`select tell_due()`) // as a server does each 30 s
	raw := d.mailed("Your webhook to 127.0.0.1:9 fails")
	assert.True(t, strings.Contains(raw, "To: <ops@acme.example>"), raw)
}
