package redisbackend

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"petstore.example/internal/envvars"
	"petstore.example/internal/limits/distributed"
)

// ErrURL replaces the error of an unreadable Redis URL. It says only what a URL looks like: the
// error's own text might show the password.
var ErrURL = errors.New("not a Redis URL: want redis://[[user]:password@]host[:port][/database], rediss:// for TLS, " +
	"?addr=host:port for each further node of a cluster, and ?master_name=name for the master that the sentinels at " +
	"these addresses know")

// Client is a client of a Redis server, a master found through sentinels, or a cluster.
type Client struct {
	redis.UniversalClient
	options *redis.UniversalOptions
	observe observer
	conns   *conns // nil for sentinels and a cluster, whose client follows their topology
}

// NewClient returns a client with the timeouts and retry rules that the limiter relies on. timeout
// is distributed.Options.Timeout, 0 for its default. It bounds each reply, each dial, and each wait
// for a connection. NewClient does not connect.
//
// A URL with the parameter master_name names sentinels: its user and password are the sentinels',
// and the parameters username and password are Redis's. Another URL with addr parameters names a
// cluster. Of go-redis's other parameters, pool_size, min_idle_conns and skip_verify are heeded.
// The error is always an ErrURL.
//
// go-redis has one logger for the whole process. It is switched off here, because the limiter logs
// what matters.
func NewClient(rawURL string, timeout time.Duration) (*Client, error) {
	o, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	if timeout <= 0 {
		timeout = distributed.DefaultTimeout
	}
	reliable(o, timeout)
	c := &Client{options: o}
	if o.MasterName == "" && !o.IsClusterMode {
		c.conns = &conns{}
		o.Dialer = c.conns.dialer(o)
	}
	c.UniversalClient = redis.NewUniversalClient(o)
	return c, nil
}

// CheckURL returns the error that NewClient would return for a URL.
func CheckURL(rawURL string) error {
	_, err := parseURL(rawURL)
	return err
}

// reliable sets what the limiter relies on: a call ends with its context, and is made once.
func reliable(o *redis.UniversalOptions, timeout time.Duration) {
	logging.Disable()
	o.Protocol = 2 // Nothing of version 3 is used, and with it go-redis looks for pushes before every command.
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.ContextTimeoutEnabled = true
	o.DialTimeout, o.PoolTimeout, o.ReadTimeout, o.WriteTimeout = timeout, timeout, timeout, timeout
	if o.MasterName != "" {
		o.DialTimeout *= distributed.CallTimeouts // The dial asks a sentinel first.
	}
	o.PipelinePoolSize = -1
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// parseURL returns ErrURL in place of errors that may quote the URL.
func parseURL(rawURL string) (*redis.UniversalOptions, error) {
	if err := envvars.CheckURL(rawURL, "redis", "rediss"); err != nil {
		return nil, fmt.Errorf("it %w: %w", err, ErrURL)
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, ErrURL
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || u.Host == "" || strings.Contains(rawURL, "#") {
		return nil, ErrURL
	}
	if query.Has("master_name") {
		return parseSentinelURL(rawURL)
	}
	if query.Has("addr") {
		o, err := redis.ParseClusterURL(rawURL)
		if err != nil {
			return nil, ErrURL
		}
		return &redis.UniversalOptions{
			IsClusterMode: true, Addrs: o.Addrs, Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig,
			PoolSize: o.PoolSize, MinIdleConns: o.MinIdleConns,
		}, nil
	}
	o, err := redis.ParseURL(rawURL)
	if err != nil {
		return nil, ErrURL
	}
	return &redis.UniversalOptions{
		Addrs: []string{o.Addr}, DB: o.DB, Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig,
		PoolSize: o.PoolSize, MinIdleConns: o.MinIdleConns,
	}, nil
}

func parseSentinelURL(rawURL string) (*redis.UniversalOptions, error) {
	o, err := redis.ParseFailoverURL(rawURL)
	if err != nil {
		return nil, ErrURL
	}
	if o.MasterName == "" {
		return nil, ErrURL
	}
	if o.TLSConfig != nil {
		o.TLSConfig.ServerName = "" // Each server's certificate is checked for its own address.
	}
	return &redis.UniversalOptions{
		MasterName:       o.MasterName,
		Addrs:            o.SentinelAddrs,
		SentinelUsername: o.SentinelUsername,
		SentinelPassword: o.SentinelPassword,
		DB:               o.DB,
		Username:         o.Username,
		Password:         o.Password,
		TLSConfig:        o.TLSConfig,
		PoolSize:         o.PoolSize,
		MinIdleConns:     o.MinIdleConns,
	}, nil
}

// IsRefused reports whether Redis refused the login, or a command for lack of rights.
func IsRefused(err error) bool {
	return slices.ContainsFunc(
		[]string{"WRONGPASS", "NOAUTH", "NOPERM"},
		func(prefix string) bool { return redis.HasErrorPrefix(err, prefix) },
	)
}
