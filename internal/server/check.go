package server

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

	"petstore.example/internal/buildinfo"
	"petstore.example/internal/cluster"
	"petstore.example/internal/connlimit"
	"petstore.example/internal/envvars"
	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/limits/redisbackend"
	"petstore.example/internal/mail"
	"petstore.example/internal/server/config"
	"petstore.example/internal/store"
	"petstore.example/internal/storeclock"
)

// checker prints a line for each thing that it tries. It leaves no lease, no row and no listener
// behind. In Redis it writes one key that each server writes every second; the key expires after a
// minute.
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
	lines, ok := errors.AsType[config.Problems](err)
	if !ok {
		lines = strings.Split(err.Error(), "\n")
	}
	for _, line := range lines {
		c.failed++
		_, _ = fmt.Fprintln(c.out, "fail  "+line)
	}
}

// Check tries what serve does before it joins the cluster. It skips what depends on a setting with
// a mistake.
func Check(ctx context.Context, build buildinfo.Info, out io.Writer, environ []string) error {
	c := &checker{out: out}
	cfg, err := config.Read(environ)
	var limits connlimit.Limits
	if err == nil {
		limits, err = connectionLimits(&cfg, openFiles())
	}
	c.result(fmt.Sprintf("the settings have no mistake, and leave files for %d connections", limits.Total), err)
	c.addresses(ctx, &cfg)
	found, db := cfg.Warnings, (*store.DB)(nil)
	if cfg.DatabaseURL != "" && store.CheckURL(string(cfg.DatabaseURL)) == nil {
		start := startup{
			cfg: &cfg, metrics: newMetrics(build), clock: storeclock.New(), serverID: xid.New().String(),
			log: zerolog.Nop(),
			tried: func(what string, err error) {
				if err == nil {
					c.result(config.SetBy(config.DatabaseVariable, cfg.DatabaseURLFile)+": "+what, nil)
				}
			},
		}
		if db, found, err = start.open(ctx); err != nil {
			c.result("", err)
			found = cfg.Warnings
		} else {
			defer func() { _ = db.Close() }()
		}
	}
	if redisbackend.CheckURL(string(cfg.RedisURL)) == nil {
		variable := config.SetBy(config.RedisVariable, cfg.RedisURLFile)
		if err = checkRedis(ctx, &cfg, db); err != nil {
			err = explained(variable, err)
		}
		c.result(variable+": Redis answers, and counts for this login", err)
	}
	if cfg.Sealer != nil && db != nil {
		variable := config.SetBy(config.SecretsVariable, cfg.SecretsKeyFile)
		if err = checkSecrets(ctx, &cfg, db); err != nil {
			err = explained(variable, err)
		}
		c.result(variable+": it opens the secrets of webhooks", err)
	}
	if relay, ok := cfg.Mail.(*mail.SMTP); ok {
		variable := config.SetBy(config.SMTPVariable, cfg.SMTPURLFile)
		if err = relay.Check(ctx); err != nil {
			err = fmt.Errorf("%s: %w", variable, err)
		}
		c.result(variable+": the relay answers over TLS, and takes the login", err)
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

// addresses listens on each address for an instant. An address that a petstore server uses is no
// mistake: that server is to be restarted. A server of an earlier release does not report its API
// address. It is asked only at its admin address, because a connection to a socket of systemd would
// start a server.
func (c *checker) addresses(ctx context.Context, cfg *config.Config) {
	var running verbose
	asking, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, body, _ := askAdmin(asking, cfg.AdminAddr, "/readyz?verbose")
	isOurs := json.Unmarshal(body, &running) == nil && running.Status != ""
	for _, a := range []struct{ setting, addr, server string }{{"ADDR", cfg.Addr, running.Addr},
		{"ADMIN_ADDR", cfg.AdminAddr, cfg.AdminAddr}} {
		_, port, err := net.SplitHostPort(a.addr)
		if err != nil {
			continue // The address is among the mistakes.
		}
		what := " is free"
		l, err := listenOn(ctx, Address{Addr: a.addr, Setting: envvars.Prefix + a.setting})
		if err == nil {
			defer l.Close() // It stays open while the other address is tried: the two must differ.
		} else if errors.Is(err, errInUse) && isOurs && (a.server == "" || strings.HasSuffix(a.server, ":"+port)) {
			what, err = " is in use by a server of petstore, which must stop before another one starts", nil
		}
		c.result(envvars.Prefix+a.setting+": "+a.addr+what, err)
	}
}

// checkSecrets fails if secrets of webhooks are sealed with a key that is not in cfg.
func checkSecrets(ctx context.Context, cfg *config.Config, db *store.DB) error {
	report, err := db.Outbox.Keys(ctx)
	for id, secrets := range report.Secrets {
		if !slices.Contains(cfg.Sealer.KeyIDs(), id) {
			return fmt.Errorf("secrets of webhooks (%d) are sealed with another key, %s: set the key of the other "+
				"servers, or both separated by a comma", secrets, id)
		}
	}
	return err
}

// checkRedis runs each command that the limiter runs. If db is not nil and says that live servers
// count in another Redis, the error is distributed.ErrOtherRedis.
func checkRedis(ctx context.Context, cfg *config.Config, db *store.DB) error {
	client, err := redisbackend.NewClient(string(cfg.RedisURL), cfg.RedisTimeout)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	ping, cancel := context.WithTimeout(ctx, 2*distributed.CallTimeouts*cfg.RedisTimeout) // twice the longest ping
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
