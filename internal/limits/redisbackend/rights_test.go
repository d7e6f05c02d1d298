package redisbackend_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"petstore.example/internal/advice"
	"petstore.example/internal/limits/redisbackend"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/redistest"
)

// page is docs/rate-limiting.md.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/rate-limiting.md")
	assert.NoError(t, err)
	return string(text)
}

// documented returns the line of the page that makes a user, with what the page says is needed for
// some URLs.
func documented(t *testing.T) (rights []string) {
	t.Helper()
	_, line, _ := strings.Cut(page(t), "\nACL SETUSER petstore on '>PASSWORD' ")
	line, _, _ = strings.Cut(line, "\n")
	return append(strings.Fields(line), "+select", "+cluster")
}

// TestRightsAreThoseOfThePage: the page has the list of the program.
func TestRightsAreThoseOfThePage(t *testing.T) {
	t.Parallel()
	want := []string{"resetchannels", "~pst:*", "&pst:*", "-@all"}
	for _, r := range redisbackend.Rights {
		right := "+" + strings.ToLower(r.Command)
		want = append(want, right)
		if r.When != "" && !strings.Contains(page(t), fmt.Sprintf("`%s` %s", right, r.When)) {
			t.Errorf("the page does not say `%s` %s", right, r.When)
		}
	}
	assert.DeepEqual(t, documented(t), want, "-page +program")
}

// TestCheckRunsEveryCommand: with the rights of the page all is well. Without any one of them the
// check fails, names the command, and leads to the page; servers could otherwise begin and stop to
// count in Redis again and again.
func TestCheckRunsEveryCommand(t *testing.T) {
	t.Parallel()
	single, cluster := redistest.New(t), redistest.NewCluster(t, 3)
	refund(t, single)
	for _, r := range redisbackend.Rights {
		servers, at := []*redistest.Server{single}, single.URL
		switch r.When {
		case "in a cluster":
			servers, at = cluster.Nodes, cluster.URL
		case "for a database other than 0":
			at = strings.TrimSuffix(at, "/0") + "/3"
		}
		t.Run(r.Command, func(t *testing.T) {
			t.Parallel()
			assert.NoError(t, checkAs(t, servers, at, "all"+r.Command, documented(t)...), "with all rights")
			without := append(documented(t), "-"+strings.ToLower(r.Command))
			err := checkAs(t, servers, at, "no"+r.Command, without...)
			named := strings.ReplaceAll(strings.ToUpper(fmt.Sprint(err)), "|", "'") // CLUSTER|SLOTS
			assert.True(t, strings.Contains(named, "'"+r.Command+"'"), err)
			assert.True(t, redisbackend.IsRefused(err), err)
			assert.True(t, strings.Contains(advice.On(err), "docs/rate-limiting.md"), err, advice.On(err))
		})
	}
	for name, missing := range map[string]string{"channels": "resetchannels", "keys": "resetkeys"} {
		err := checkAs(t, []*redistest.Server{single}, single.URL, name, append(documented(t), missing)...)
		assert.True(t, redisbackend.IsRefused(err), name, err)
	}
}

// refund sends refunds without a pause, as many servers would.
func refund(t *testing.T, s *redistest.Server) {
	t.Helper()
	client := look(t, s.URL)
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			client.Publish(ctx, "pst:4:refunds", "1")
		}
	})
	t.Cleanup(func() {
		cancel()
		done.Wait()
	})
}

// checkAs checks as a user with these rights.
func checkAs(t *testing.T, servers []*redistest.Server, at, user string, rights ...string) error {
	t.Helper()
	args := []any{"ACL", "SETUSER", user, "on", ">secret"}
	for _, right := range rights {
		args = append(args, right)
	}
	for _, s := range servers {
		assert.NoError(t, look(t, s.URL).Do(t.Context(), args...).Err())
	}
	u, err := url.Parse(at)
	assert.NoError(t, err)
	u.User = url.UserPassword(user, "secret")
	client, err := redisbackend.NewClient(u.String(), timeout)
	assert.NoError(t, err)
	defer func() { _ = client.Close() }()
	_, err = redisbackend.New(client).Check(t.Context())
	return err
}
