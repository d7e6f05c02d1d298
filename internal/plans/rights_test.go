package plans

import (
	"strings"
	"testing"

	"petstore.example/internal/plans/redistest"
)

// TestProbeNeedsAllRights: a user who lacks one that some script needs must not have the limiter begin and leave off again and again.
func TestProbeNeedsAllRights(t *testing.T) {
	t.Parallel()
	url := redistest.New(t).URL
	admin := look(t, url)
	for user, tt := range map[string]struct {
		rights  string
		healthy bool
	}{
		"all":      {"~pst:* &pst:* -@all +evalsha +eval +info +subscribe +get +set +setrange +expire +time +publish", true},
		"nochan":   {"~pst:* resetchannels +@all", false},
		"norange":  {"~pst:* &pst:* +@all -setrange", false},
		"noexpire": {"~pst:* &pst:* +@all -expire", false},
		"noinfo":   {"~pst:* &pst:* +@all -info", false},
	} {
		t.Run(user, func(t *testing.T) {
			args := []any{"ACL", "SETUSER", user, "on", ">secret"}
			for _, right := range strings.Fields(tt.rights) {
				args = append(args, right)
			}
			if err := admin.Do(t.Context(), args...).Err(); err != nil {
				t.Fatal(err)
			}
			client, err := NewRedisClient(strings.Replace(url, "redis://", "redis://"+user+":secret@", 1), patient.Timeout)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = client.Close() }()
			if _, err := newRedisCounters(client).probe(t.Context()); (err == nil) != tt.healthy {
				t.Errorf("the probe says %v", err)
			}
		})
	}
}
