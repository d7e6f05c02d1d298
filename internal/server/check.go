package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/rs/xid"
	"github.com/rs/zerolog"

	"petstore.example/internal/cluster"
	"petstore.example/internal/connlimit"
	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/limits/redisbackend"
	"petstore.example/internal/store"
	"petstore.example/internal/storeclock"
)

// checker prints a line of each thing that it tries. Of what it tries nothing stays: no lease, no
// row and no listener. In Redis it writes the key that each server writes every second, and that
// expires after a minute.
type checker struct {
	out    io.Writer
	failed int
}

// result prints that a try succeeded, or the lines of its error.
func (c *checker) result(what string, err error) {
	if err == nil {
		_, _ = fmt.Fprintln(c.out, "ok    "+what)
		return
	}
	lines, ok := errors.AsType[problems](err)
	if !ok {
		lines = strings.Split(err.Error(), "\n")
	}
	for _, line := range lines {
		c.failed++
		_, _ = fmt.Fprintln(c.out, "fail  "+line)
	}
}

// runCheck tries what serve does before it joins the cluster. What depends on a setting with a
// mistake is not tried.
func runCheck(ctx context.Context, out io.Writer, environ []string) error {
	c := &checker{out: out}
	cfg, err := readConfig(environ)
	var limits connlimit.Limits
	if err == nil {
		limits, err = cfg.connectionLimits(openFiles())
	}
	c.result(fmt.Sprintf("the settings have no mistake, and leave files for %d connections", limits.Total), err)
	c.addresses(ctx, &cfg)
	found, db := cfg.found, (*store.DB)(nil)
	if cfg.DatabaseURL != "" && store.CheckURL(string(cfg.DatabaseURL)) == nil {
		cfg.checked = func(what string, err error) error {
			if err == nil {
				c.result(setBy(databaseVariable, cfg.DatabaseURLFile)+": "+what, nil)
			}
			return err
		}
		if db, found, err = openDatabase(
			ctx,
			cfg,
			newMetrics(),
			storeclock.New(),
			xid.New().String(),
			zerolog.Nop(),
		); err != nil {
			c.result("", err)
			found = cfg.found
		} else {
			defer func() { _ = db.Close() }()
		}
	}
	if redisbackend.CheckURL(string(cfg.RedisURL)) == nil {
		variable := setBy(redisVariable, cfg.RedisURLFile)
		if err = checkRedis(ctx, &cfg, db); err != nil {
			err = explained(variable, err)
		}
		c.result(variable+": Redis answers, and counts for this login", err)
	}
	for _, warning := range found {
		_, _ = fmt.Fprintln(out, "warn  "+warning)
	}
	if c.failed > 0 {
		if c.failed == 1 {
			return errors.New("1 check failed")
		}
		return fmt.Errorf("%d checks failed", c.failed)
	}
	return nil
}

// addresses listens on each address for an instant. One that a server of petstore has is no
// mistake: that server is to be restarted. Only the admin address is asked for it, where releases
// before this one do not name the other: a connection to a socket of systemd would start a server.
func (c *checker) addresses(ctx context.Context, cfg *config) {
	var running verbose
	asking, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, body, _ := askAdmin(asking, cfg.AdminAddr, "/readyz?verbose")
	isOurs := json.Unmarshal(body, &running) == nil && running.Status != ""
	for _, a := range []struct{ setting, addr, server string }{{"ADDR", cfg.Addr, running.Addr},
		{"ADMIN_ADDR", cfg.AdminAddr, cfg.AdminAddr}} {
		_, port, err := net.SplitHostPort(a.addr)
		if err != nil {
			continue // It is among the mistakes.
		}
		what := " is free"
		l, err := listenOn(ctx, address{addr: a.addr, setting: envPrefix + a.setting})
		if err == nil {
			defer l.Close() // not before the other one was tried: they must differ
		} else if errors.Is(err, errInUse) && isOurs && (a.server == "" || strings.HasSuffix(a.server, ":"+port)) {
			what, err = " is in use by a server of petstore, which must stop before another one starts", nil
		}
		c.result(envPrefix+a.setting+": "+a.addr+what, err)
	}
}

// checkRedis runs each command that the limiter runs. If live servers count in another Redis, which the database
// says unless it is nil, the error is distributed.ErrOtherRedis.
func checkRedis(ctx context.Context, cfg *config, db *store.DB) error {
	client, err := redisbackend.NewClient(string(cfg.RedisURL), cfg.RedisTimeout)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	ping, cancel := context.WithTimeout(ctx, 2*distributed.CallTimeouts*cfg.RedisTimeout) // twice what a ping may take
	defer cancel()
	found, err := redisbackend.New(client).Check(ping)
	if err != nil || db == nil {
		return err
	}
	all, err := db.Cluster.State(ctx)
	live := func(s cluster.Server) bool { return all.Now.Sub(s.Seen) < cluster.MemberTTL }
	if of := all.Term.Redis; of != "" && of != found && cluster.LayoutOf(of) == cluster.LayoutOf(found) &&
		slices.ContainsFunc(all.Servers, live) {
		return distributed.ErrOtherRedis
	}
	return err
}
