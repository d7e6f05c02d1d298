package redisbackend

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Right is a command that the URL's user must be allowed to run on the keys and channels pst:*.
// When says for which URLs, "" for all.
type Right struct{ Command, When string }

// Rights are all the rights needed. docs/rate-limiting.md lists the same, and Check runs each.
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

// Check runs every command of Rights on every master. The error names a command that the user may
// not run. Ping, which servers send ten times a second, leaves out EVAL and the commands that only
// the feed of refunds runs.
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
	// Refunds of other servers may arrive before the reply.
	for err == nil {
		var got any
		if got, err = sub.Receive(ctx); err == nil {
			if _, ok := got.(*redis.Pong); ok {
				return nil
			}
		}
	}
	return err
}
