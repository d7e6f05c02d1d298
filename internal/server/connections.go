package main

import (
	"fmt"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"petstore.example/internal/connlimit"
)

const (
	// adminConnections is how many connections the admin address may have.
	adminConnections = 32
	// reservedFiles is how many file descriptors are left for Postgres, Redis, files and what is
	// about to be closed.
	reservedFiles = 64
	// minConnections is how many connections the API must be able to have.
	minConnections = 32
	// strangerTimeout is how long a connection may be idle on which no valid key has been sent.
	strangerTimeout = 10 * time.Second
	// clientTimeout is how long the kernel waits for a client that does not acknowledge, or has no
	// room for, what it is sent.
	clientTimeout = 30 * time.Second
	// minUnsentBytes leaves an address enough for one response of each size.
	minUnsentBytes = 4 << 20
)

// limitConnections bounds the connections of the sockets, and returns the limits of the API's.
func (s *sockets) limitConnections(cfg config, metrics prometheus.Registerer) (connlimit.Limits, error) {
	limits, err := cfg.connectionLimits(openFiles())
	if err != nil {
		return limits, err
	}
	api, admin := connlimit.Wrap(s.api, limits), connlimit.Wrap(s.admin, connlimit.Limits{Total: adminConnections})
	s.api, s.admin = api, admin
	metrics.MustRegister(connectionMetrics{"api": api, "admin": admin})
	return limits, nil
}

// openFiles is how many files this process may open, 0 if that can't be read. The Go runtime has
// raised it to the hard limit.
func openFiles() uint64 {
	var files syscall.Rlimit
	_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files)
	return uint64(files.Cur) //nolint:unconvert // It is an int64 on some systems.
}

// connectionLimits returns the limits of the API's connections, in a process that may open so many
// files.
func (c *config) connectionLimits(files uint64) (connlimit.Limits, error) {
	const reserved = adminConnections + reservedFiles
	if files < reserved+minConnections {
		return connlimit.Limits{}, fmt.Errorf(
			"the limit of open files is %d: raise it to at least %d (ulimit -n, LimitNOFILE)",
			files,
			reserved+minConnections,
		)
	}
	total := int(min(uint64(c.MaxConnections), files-reserved))
	limits := connlimit.Limits{
		Total:       total,
		PerAddress:  int(c.MaxConnectionsPerAddress),
		IdleTimeout: strangerTimeout,
		Unsent:      c.UnsentBytes,
	}
	if limits.PerAddress == 0 {
		limits.PerAddress = total / 4
	}
	for _, proxy := range c.TrustedProxies {
		network, err := parseNetwork(proxy)
		if err != nil {
			return limits, fmt.Errorf("PETSTORE_TRUSTED_PROXIES contains %q: %w", proxy, err)
		}
		limits.Trusted = append(limits.Trusted, network)
	}
	return limits, nil
}

// connectionMetrics are the listeners whose connections are counted, by name.
type connectionMetrics map[string]*connlimit.Listener

var (
	connectionsOpen = prometheus.NewDesc(
		"petstore_connections",
		"Open connections by listener and state. A connection is authenticated once a request on it has had a valid "+
			"key, or if it is a trusted proxy's.",
		[]string{"listener", "state"},
		nil,
	)
	connectionsMost = prometheus.NewDesc("petstore_connections_max",
		"The most open connections by listener.", []string{"listener"}, nil)
	connectionsRefused = prometheus.NewDesc(
		"petstore_connections_refused_total",
		"New connections that were reset because a limit was reached, by listener and limit.",
		[]string{"listener", "reason"},
		nil,
	)
	connectionsClosed = prometheus.NewDesc(
		"petstore_connections_closed_total",
		"Connections that were closed: idle ones in favour of a new one because a limit was reached, or after 10 s "+
			"without a valid key, and those whose clients left too much unread.",
		[]string{"listener", "reason"},
		nil,
	)
)

// Describe implements prometheus.Collector.
func (m connectionMetrics) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, to) }

// Collect implements prometheus.Collector.
func (m connectionMetrics) Collect(to chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, t prometheus.ValueType, n int64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, t, float64(n), labels...)
	}
	for name, listener := range m {
		s := listener.Stats()
		send(connectionsOpen, prometheus.GaugeValue, s.Authenticated, name, "authenticated")
		send(connectionsOpen, prometheus.GaugeValue, s.Unauthenticated, name, "unauthenticated")
		send(connectionsMost, prometheus.GaugeValue, int64(listener.Most()), name)
		for reason, n := range s.Refused {
			send(connectionsRefused, prometheus.CounterValue, n, name, string(reason))
		}
		for reason, n := range s.Closed {
			send(connectionsClosed, prometheus.CounterValue, n, name, string(reason))
		}
	}
}
