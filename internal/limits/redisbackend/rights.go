package redisbackend

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Right is a command that the user in the URL must be allowed to run, on the keys and channels
// pst:*. When says for which URLs, "" for all.
type Right struct{ Command, When string }

// Rights are all that are needed. docs/rate-limiting.md has the same, and Check runs each.
var Rights = []Right{
	{"EVAL", ""},
	{"EVALSHA", ""},
	{"EXPIRE", ""},
	{"GET", ""},
	{"INFO", ""},
	{"PING", ""},
	{"PUBLISH", ""},
	{"SET", ""},
	{"SETRANGE", ""},
	{"SUBSCRIBE", ""},
	{"TIME", ""},
	{"SELECT", "for a database other than 0"},
	{"CLUSTER", "in a cluster"},
}

// Check runs every command of Rights, on every master. The error of one that the user may not run
// names it. Ping, which servers send ten times a second, leaves out EVAL and what only the feed of
// refunds runs.
func (s *Backend) Check(ctx context.Context) (fingerprint string, err error) {
	client := s.reach()
	fingerprint, err = s.Ping(ctx)
	for i := 0; err == nil && i < pingKeysOf(client); i++ {
		err = pingScript.Eval(ctx, client, []string{pingKey(i)}, refundsChannel).Err()
	}
	if err == nil {
		err = checkSubscription(ctx, client)
	}
	return fingerprint, err
}

// checkSubscription subscribes to the feed of refunds and pings through it, as Listen does.
func checkSubscription(ctx context.Context, client redis.UniversalClient) error {
	sub := client.Subscribe(ctx, refundsChannel)
	defer func() { _ = sub.Close() }()
	_, err := sub.Receive(ctx)
	if err == nil {
		err = sub.Ping(ctx)
	}
	if err == nil {
		_, err = sub.Receive(ctx)
	}
	return err
}
