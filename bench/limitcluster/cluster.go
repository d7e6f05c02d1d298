// Package limitcluster runs the limiters of several servers in one process, with a database and a
// Redis as in petstore serve.
package limitcluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/bench/servers"
	"petstore.example/internal/cluster"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/limits/redisbackend"
	"petstore.example/internal/store"
	"petstore.example/internal/store/changefeed"
)

// Deployment is a database and a Redis that servers share. Its servers have limiters, members of
// the cluster, change feeds and connections of their own, as in petstore serve, but are in one
// process and serve no HTTP.
type Deployment struct {
	DatabaseURL string
	// RedisURL is empty for servers without limiters, which only renew their membership, with a
	// Redis of that name.
	RedisURL, RedisName string
	// Conns is the size of each server's pool of connections; 0 for that of a server.
	Conns int
	Log   zerolog.Logger
}

// Server is one server of a Deployment. TearDown leaves the cluster and closes its connections.
type Server struct {
	*distributed.Limiter
	servers.Cleanups

	Member *cluster.Member
}

// Join adds a server.
func (d *Deployment) Join(ctx context.Context, id string) (s *Server, err error) {
	s = &Server{}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("join %s: %w", id, err), s.TearDown(ctx))
		}
	}()
	renew, err := d.open(ctx, s, 2)
	if err != nil {
		return s, err
	}
	s.Member = cluster.NewMember(renew.Cluster, cluster.Options{ServerID: id, Log: d.Log})
	if d.RedisURL == "" {
		s.Member.SetRedis(d.RedisName)
	} else if err := d.addLimiter(ctx, s); err != nil {
		return s, err
	}
	running, leave := context.WithCancel(context.WithoutCancel(ctx))
	var all sync.WaitGroup
	all.Go(func() { _ = s.Member.Run(running) })
	all.Go(func() { changefeed.Listen(running, renew.CurrentURL, noCallers{}, s.Member.Wake, d.Log) })
	s.Cleanup(func(context.Context) error { leave(); all.Wait(); return nil })
	return s, nil
}

func (d *Deployment) open(ctx context.Context, s *Server, conns int) (*store.DB, error) {
	db, err := store.Open(ctx, d.DatabaseURL, store.Options{AsAPI: true, MaxConns: conns})
	if err == nil {
		s.Cleanup(func(context.Context) error { return db.Close() })
	}
	return db, err
}

func (d *Deployment) addLimiter(ctx context.Context, s *Server) error {
	db, err := d.open(ctx, s, d.Conns)
	if err != nil {
		return err
	}
	client, err := redisbackend.NewClient(d.RedisURL, redisTimeout)
	if err != nil {
		return err
	}
	s.Cleanup(func(context.Context) error { return client.Close() })
	s.Limiter = distributed.New(redisbackend.New(client), distributed.Options{
		Cluster: s.Member, Counters: db.Counters, Log: d.Log, Timeout: redisTimeout,
	})
	s.Start()
	s.Cleanup(func(context.Context) error { s.Close(); return nil })
	return nil
}

// redisTimeout is long, so that a busy machine does not count as a lost Redis.
const redisTimeout = 5 * time.Second

// noCallers is the directory of a server that looks up no callers.
type noCallers struct{}

func (noCallers) KeyChanged(keys.DigestPrefix) {}
func (noCallers) TenantChanged(int64)          {}
func (noCallers) AllChanged()                  {}
func (noCallers) FeedLost()                    {}
func (noCallers) FeedProven(time.Time)         {}
func (noCallers) ProofWanted() <-chan struct{} { return nil }
