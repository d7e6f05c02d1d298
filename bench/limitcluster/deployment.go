package limitcluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/cluster"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/limits/redisbackend"
	"petstore.example/internal/store"
	"petstore.example/internal/store/changefeed"
)

// Deployment is a database and a Redis that servers share. Its servers have limiters, members of the cluster, change feeds and
// connections of their own, as in petstore serve, but are in one process and serve no HTTP.
type Deployment struct {
	DatabaseURL string
	// RedisURL is empty for servers without limiters, which only renew their membership.
	RedisURL string
	// Conns is the size of each server's pool of connections; 0 for that of a server.
	Conns int
	Log   zerolog.Logger
}

// Server is one server of a Deployment.
type Server struct {
	*distributed.Limiter
	Member *cluster.Member

	running      sync.WaitGroup
	leave        context.CancelFunc
	client       *redisbackend.Client
	store, renew *store.DB
}

// Join adds a server. Close it in the end.
func (d *Deployment) Join(ctx context.Context, id string) (s *Server, err error) {
	s = &Server{leave: func() {}}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("join %s: %w", id, err), s.Close())
		}
	}()
	if s.renew, err = store.Open(ctx, d.DatabaseURL, store.Options{AsAPI: true, MaxConns: 2}); err != nil {
		return s, err
	}
	s.Member = cluster.NewMember(s.renew.Cluster, cluster.Options{ServerID: id, Log: d.Log})
	if d.RedisURL != "" {
		if err := d.addLimiter(ctx, s); err != nil {
			return s, err
		}
	}
	var running context.Context
	running, s.leave = context.WithCancel(context.WithoutCancel(ctx))
	s.running.Go(func() { _ = s.Member.Run(running) })
	s.running.Go(func() { _ = changefeed.Listen(running, d.DatabaseURL, noCallers{}, s.Member.Wake, d.Log) })
	return s, nil
}

func (d *Deployment) addLimiter(ctx context.Context, s *Server) (err error) {
	if s.store, err = store.Open(ctx, d.DatabaseURL, store.Options{AsAPI: true, MaxConns: d.Conns}); err != nil {
		return err
	}
	if s.client, err = redisbackend.NewClient(d.RedisURL, deploymentTimeout); err != nil {
		return err
	}
	s.Limiter = distributed.New(redisbackend.New(s.client), distributed.Options{
		Cluster: s.Member, Counters: s.store.Counters, Log: d.Log, Timeout: deploymentTimeout,
	})
	s.Start()
	return nil
}

// deploymentTimeout is longer than a server's, because this machine is busier than a server's would be.
const deploymentTimeout = time.Second

// Close leaves the cluster and closes the server's connections.
func (s *Server) Close() error {
	s.leave()
	s.running.Wait()
	var errs []error
	if s.Limiter != nil {
		s.Limiter.Close()
	}
	if s.client != nil {
		errs = append(errs, s.client.Close())
	}
	for _, db := range []*store.DB{s.store, s.renew} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// noCallers is the directory of a server that looks up no callers.
type noCallers struct{}

func (noCallers) KeyChanged(keys.DigestPrefix) {}
func (noCallers) TenantChanged(int64)          {}
func (noCallers) AllChanged()                  {}
func (noCallers) FeedLost()                    {}
func (noCallers) FeedProven(time.Time)         {}
func (noCallers) ProofWanted() <-chan struct{} { return nil }
