// Package alerts tests what operators see: a real Prometheus scrapes two servers with the
// configuration of deploy/prometheus, faults are made, and each alert fires and ends. On Linux the
// exporters of Debian run beside a Postgres with a standby, Redis and nginx; make soak makes all of
// the faults that they see. Other tests hold docs/metrics.md to the metrics of these servers, the
// runbooks to the alerts, and the dashboard to both.
//
// Durations in alerts.yml are a sixtieth there, so that a minute takes a second. What takes hours,
// promtool tests with the file as it is (rules_test.yml).
package alerts
