package pgconn

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgservicefile"
	"github.com/lib/pq"

	"petstore.example/internal/envvars"
	"petstore.example/internal/ownfiles"
)

// noService keeps the driver from reading a service.
const noService = ` service=''`

// ReadConfig returns the connection string of a URL, with the settings of its service or of
// PGSERVICE included, and the driver's reading of it. As in libpq, the URL comes before the
// service, and the service before the environment. The driver alone would let the service come
// first: PGSERVICE would send a command to another database than its URL names.
//
// The error never holds a password.
func ReadConfig(text string) (dsn string, cfg pq.Config, err error) {
	if err := checkText(text); err != nil {
		return "", cfg, err
	}
	dsn = text
	if isURL(text) {
		//nolint:staticcheck // Open takes a URL too, but a URL can't say that it has no service.
		if dsn, err = pq.ParseURL(splitHosts(text)); err != nil {
			return "", cfg, errUnreadable
		}
	}
	if all := setting.FindAllStringSubmatch(dsn, -1); len(all) > 0 && all[len(all)-1][2] == "" {
		dsn += "''" // Otherwise the next text that is appended would be the value.
	}
	// The driver's error may quote the string, and with it the password.
	if _, err := pq.NewConfig(noService); err != nil {
		return "", cfg, environmentError(err)
	}
	if cfg, err = pq.NewConfig(dsn + noService); err != nil {
		return "", cfg, errUnreadable
	}
	if err := checkSettings(cfg, isURL(text)); err != nil {
		return "", cfg, err
	}
	name := os.Getenv("PGSERVICE")
	if named, ok := settingOf(dsn, "service"); ok {
		name = named
	}
	if name == "" {
		return dsn, cfg, nil
	}
	settings, err := readService(name)
	if err != nil {
		return "", cfg, err
	}
	dsn = settings + dsn + noService
	if cfg, err = pq.NewConfig(dsn); err != nil {
		return "", cfg, errUnreadable
	}
	return dsn, cfg, nil
}

// NewConnector returns a connector that uses the dialer. The driver's error may quote the address,
// and with it the password.
func NewConnector(cfg pq.Config, by Dialer) (*pq.Connector, error) {
	connector, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return nil, errors.New("the database URL can't be used: check sslmode and the paths of the certificates")
	}
	connector.Dialer(by)
	return connector, nil
}

// splitHosts moves the hosts of a URL that has several into parameters, because the driver reads
// postgres://a:1,b:2/ as hosts with the names a:1 and b:2.
func splitHosts(text string) string {
	u, err := url.Parse(text)
	if err != nil || !strings.Contains(u.Host, ",") {
		return text
	}
	var hosts, ports []string
	for address := range strings.SplitSeq(u.Host, ",") {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			host, port = address, "5432"
		}
		hosts, ports = append(hosts, host), append(ports, port)
	}
	query := u.Query()
	query.Set("host", strings.Join(hosts, ","))
	query.Set("port", strings.Join(ports, ","))
	u.Host, u.RawQuery = "", query.Encode()
	return u.String()
}

// setting is one setting of a connection string: its name, and its value as it is written.
var setting = regexp.MustCompile(`([^\s=]+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:\\.|[^\s\\])*)`)

// settingOf returns the last value of that name in a connection string.
func settingOf(dsn, name string) (value string, ok bool) {
	for _, found := range setting.FindAllStringSubmatch(dsn, -1) {
		if found[1] == name {
			value, ok = unescape.ReplaceAllString(strings.Trim(found[2], "'"), "$1"), true
		}
	}
	return value, ok
}

var unescape = regexp.MustCompile(`\\(.)`)

// readService returns the settings of a service as a connection string. The file names the host
// that a password is sent to, so a file that another user could have written is refused.
func readService(name string) (string, error) {
	path := ServiceFile()
	if envvars.MayBeSecret(name) {
		return "", errors.New("what should name a Postgres service is a URL or the like")
	}
	content, err := ownfiles.ReadPath(path, ownfiles.ReadFile)
	if err != nil {
		return "", serviceError(name, err)
	}
	text, err := envvars.Read(string(content))
	if err != nil {
		return "", serviceError(name, fmt.Errorf("%s %w", path, err))
	}
	file, err := pgservicefile.ParseServicefile(strings.NewReader(text))
	if err != nil {
		return "", serviceError(name, fmt.Errorf("%s: %w", path, err))
	}
	service, err := file.GetService(name)
	if err != nil {
		return "", serviceError(name, fmt.Errorf("%s does not define it", path))
	}
	var settings strings.Builder
	for key, value := range service.Settings {
		fmt.Fprintf(&settings, "%s=%s ", key, quoteSetting(value))
	}
	cfg, err := pq.NewConfig(settings.String() + noService)
	if err == nil {
		err = checkSettings(cfg, false)
	}
	if err != nil {
		return "", serviceError(name, fmt.Errorf("%s has a setting of it that can't be read", path))
	}
	return settings.String(), nil
}

func quoteSetting(value string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value) + "'"
}

func serviceError(name string, err error) error {
	return fmt.Errorf("the Postgres service %q can't be used: %w", name, err)
}

// ServiceFile is the file in which libpq looks for services.
func ServiceFile() string { return libpqFile("PGSERVICEFILE", ".pg_service.conf", ".pg_service.conf") }

// PassFile is the file of passwords.
func PassFile() string { return libpqFile("PGPASSFILE", ".pgpass", "pgpass.conf") }

func libpqFile(variable, name, onWindows string) string {
	if path := os.Getenv(variable); path != "" {
		return path
	}
	if runtime.GOOS == "windows" {
		return filepath.Join(os.Getenv("APPDATA"), "postgresql", onWindows)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, name)
}

// Target is where a URL leads, including what its service and the environment add. It has no
// password.
type Target struct {
	Login, Host, Database string
	Port                  uint16
	// SSLMode is empty if nothing sets it; the driver then demands TLS and does not verify the
	// server.
	SSLMode string
	// The paths of the CA, the client's certificate and its key; empty if nothing sets them.
	RootCert, Cert, Key string
	// ConnectTimeout is how long a connection may take; 0 if nothing sets it.
	ConnectTimeout time.Duration
	// Remote says that a host is another machine.
	Remote bool
	// PasswordFrom is the source of the password: "the URL", "the Postgres service" or
	// "PGPASSWORD"; empty for none.
	PasswordFrom string
}

// IsSocket reports whether the host is the directory of a Unix socket.
func (t Target) IsSocket() bool { return isSocket(t.Host) }

// Address is the host and port, or the directory of a Unix socket.
func (t Target) Address() string {
	if t.IsSocket() {
		return t.Host
	}
	return net.JoinHostPort(t.Host, strconv.Itoa(int(t.Port)))
}

// URLFor returns a URL by which another login reaches the same database. It has no password and no
// path of this machine: of the CA's file it has only the name.
func (t Target) URLFor(login string) string {
	u := url.URL{Scheme: "postgres", User: url.User(login), Path: "/" + t.Database}
	query := url.Values{}
	if t.IsSocket() {
		query.Set("host", t.Host)
	} else {
		u.Host = t.Address()
	}
	if t.SSLMode != "" {
		query.Set("sslmode", t.SSLMode)
	}
	if t.RootCert != "" {
		query.Set("sslrootcert", filepath.Base(t.RootCert))
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// ReadTarget returns where a URL leads. The error never holds a password.
func ReadTarget(text string) (Target, error) {
	dsn, cfg, err := ReadConfig(text)
	if err != nil {
		return Target{}, err
	}
	hosts := []string{cfg.Host}
	if cfg.Hostaddr.IsValid() {
		hosts[0] = cfg.Hostaddr.String()
	}
	for _, m := range cfg.Multi {
		hosts = append(hosts, m.Host)
	}
	return Target{
		Login: cfg.User, Host: cfg.Host, Database: databaseOf(cfg), Port: cfg.Port, SSLMode: string(cfg.SSLMode),
		RootCert: cfg.SSLRootCert, Cert: cfg.SSLCert, Key: cfg.SSLKey, ConnectTimeout: cfg.ConnectTimeout,
		Remote: slices.ContainsFunc(hosts, isRemote), PasswordFrom: passwordFrom(text, dsn, cfg),
	}, nil
}

// passwordFrom returns the source of a URL's password. dsn has the URL's settings, including its
// service's.
func passwordFrom(text, dsn string, cfg pq.Config) string {
	//nolint:staticcheck // As in ReadConfig.
	if own, err := pq.ParseURL(text); err == nil {
		text = own
	}
	_, inURL := settingOf(text, "password")
	_, inSettings := settingOf(dsn, "password")
	switch {
	case cfg.Password == "":
		return ""
	case inURL:
		return "the URL"
	case inSettings:
		return "the Postgres service"
	}
	return "PGPASSWORD"
}

// isRemote reports whether a host is neither a directory of a Unix socket nor this machine.
func isRemote(host string) bool {
	if host == "localhost" || isSocket(host) {
		return false
	}
	address, err := netip.ParseAddr(host)
	return err != nil || !address.IsLoopback()
}

func isSocket(host string) bool { return filepath.IsAbs(host) || strings.HasPrefix(host, "@") }
