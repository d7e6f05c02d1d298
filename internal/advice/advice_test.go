package advice

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"petstore.example/internal/test/assert"
)

// TestRowsAreReached: no row is hidden by an earlier one.
func TestRowsAreReached(t *testing.T) {
	t.Parallel()
	for _, row := range append(pooled[:len(pooled):len(pooled)], rows...) {
		assert.Equal(t, On(errors.New("x "+row[0]+" y")), row[1], row[0])
	}
	assert.Equal(t, On(nil), "", "no error")
	assert.Equal(t, On(errors.New("x")), "", "an unknown error")
}

// TestOn has the errors that no program of the end-to-end tests meets.
func TestOn(t *testing.T) {
	t.Parallel()
	_, missing := net.Dial("unix", "/none/.s.PGSQL.5432")
	for _, c := range []struct {
		err  error
		want string
	}{
		{x509.CertificateInvalidError{Reason: x509.Expired}, "renew the certificate"},
		{&fs.PathError{Op: "open", Path: "/ca.pem", Err: syscall.EACCES}, "this user must be able to read it"},
		{fmt.Errorf("read: %w", os.ErrDeadlineExceeded), "nothing there answers"},
		{missing, "which is a folder"},
		{errors.New("pq: SSL is not enabled on the server"), "ssl = on"},
		{errors.New("pq: cannot execute NOTIFY during recovery (25006)"), "target_session_attrs"},
		{errors.New("pq: unsupported startup parameter: statement_timeout (08P01)"), "ignore_startup_parameters"},
		{errors.New(`pq: prepared statement "1" already exists (42P05)`), "server_reset_query"},
		{errors.New(`pq: prepared statement "1" does not exist (26000)`), "pool_mode"},
		{errors.New("NOPERM this user has no permissions to run the 'info' command"), "ACL SETUSER"},
	} {
		assert.True(t, strings.Contains(On(c.err), c.want), c.err, On(c.err))
	}
	for _, err := range []string{`the Postgres service "x" can't be used: open /home/jo/.pg_service.conf: no such ` +
		`file or directory`, "pq: permission denied for database \"petstore\" (42501)"} {
		assert.Equal(t, On(errors.New(err)), "", err)
	}
}
