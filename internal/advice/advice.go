// Package advice says what to do when Postgres or Redis can't be reached. It depends on nothing,
// and holds no state.
package advice

import (
	"cmp"
	"strings"
)

// rows are texts of errors with advice; the first row that fits is used. Most of these errors have
// no type of their own.
var rows = [][2]string{
	{"Postgres service", ""},
	{"pq: permission denied", ""}, // These errors have advice in them or from their callers.
	{
		"(28P01)",
		"check login and password in the URL, where all but letters and digits is percent-encoded; an expired " +
			"password is refused alike",
	},
	{
		"client certificate",
		"name the certificate of this login in the URL, sslcert=FILE&sslkey=FILE, and check that the files are there",
	},
	{"(28000)", "check login, database and sslmode in the URL; if they are right, pg_hba.conf needs an entry for them"},
	{"(3D000)", "check the name of the database in the URL, or make it: see docs/running.md#the-database"},
	{
		"(53300)",
		"raise max_connections, or what limits the login or the database: each server uses up to 30, each person " +
			"one; pg_stat_activity shows who has them",
	},
	{
		"default_transaction_read_only is on",
		"somebody has frozen it, as before a move: wait, or have the setting reset where pg_settings.source says",
	},
	{
		"(25006)",
		"this host is a standby: name the one that takes writes, or all hosts with target_session_attrs=read-write",
	},
	{
		"unsupported startup parameter",
		"PgBouncer takes no such setting: leave it out of the URL, or name it in ignore_startup_parameters of " +
			"PgBouncer, which then drops it",
	},
	{"WRONGPASS", "check user and password in the URL"},
	{"NOAUTH", "set user and password in the URL"},
	{"NOPERM", "give the user that right (ACL SETUSER): see docs/rate-limiting.md#where-requests-are-counted"},
	{
		"not master",
		"name the master in the URL, or its sentinels: see docs/rate-limiting.md#where-requests-are-counted",
	},
	{
		"SSL is not enabled",
		"turn on TLS in Postgres (ssl = on), or, if nobody can read what is sent to it, set sslmode=disable in the URL",
	},
	{
		"remote error: tls",
		"the certificate of sslcert is refused: it must not have expired, and be of the authority in ssl_ca_file",
	},
	{"parse pem", "the file must hold the certificate of an authority, in PEM"},
	{"tls: private key", "sslcert and sslkey in the URL must name a certificate and its own key"},
	{"expired", "renew the certificate of that server, or correct this machine's clock"},
	{
		"unknown authority",
		"name the file of the authority of that certificate: sslrootcert=FILE in the URL of Postgres, or its folder " +
			"in SSL_CERT_DIR for Redis",
	},
	{"x509: ", "name the host in the URL as its certificate does, or have one made for that name"},
	{"no such host", "check the host in the URL"},
	{"dial unix", "check the host in the URL, which is a folder, and that Postgres runs there"},
	{"connection refused", "check host and port in the URL, and that the server runs and listens there"},
	{"no such file", "the URL names that file (sslrootcert, sslcert, sslkey): it must be there"},
	{"permission denied", "the URL names that file (sslrootcert, sslcert, sslkey): this user must be able to read it"},
	{
		"timeout",
		unlike,
	},
	{"deadline exceeded", unlike},
	{"EOF", ended},
	{"reset by peer", ended},
	{"broken pipe", ended},
	{"can't parse", unlike},
}

// pooled are the rows for statements through a pooler.
var pooled = [][2]string{
	{
		"(42P05)",
		"a pooler passes sessions on as the last client left them: set server_reset_query = DISCARD ALL in PgBouncer",
	},
	{
		"(26000)",
		"a pooler changes the session between statements: set pool_mode = session in PgBouncer, or connect directly",
	},
}

const (
	unlike = "nothing there answers in time as it should: check host and port in the URL, firewalls, and whether " +
		"TLS is wanted (rediss:// for Redis)"
	// With TLS 1.3 a server refuses a client's certificate only after the client has begun to send,
	// so the client may not see the reason.
	ended = "that server ended the connection: check host and port in the URL, whether TLS is wanted (rediss:// for " +
		"Redis), and the certificate of sslcert if it has one"
)

// On returns what to do about an error, "" if that is unknown.
func On(err error) string { return cmp.Or(find(pooled, err), find(rows, err)) }

// OnStatement is On for an error of a statement, after Postgres was reached.
func OnStatement(err error) string { return find(pooled, err) }

func find(rows [][2]string, err error) string {
	for _, row := range rows {
		if err != nil && strings.Contains(err.Error(), row[0]) {
			return row[1]
		}
	}
	return ""
}
