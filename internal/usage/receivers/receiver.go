package receivers

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"petstore.example/internal/envvars"
	"petstore.example/internal/ownfiles"
	"petstore.example/internal/usage/events"
)

// CheckName refuses a text that can't be the name of a receiver.
func CheckName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("a receiver is 1 to 63 characters of a-z, 0-9, ., _ and -, not %q", name)
	}
	return nil
}

var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// Receiver is where events are sent.
type Receiver struct {
	// Name is the name of its file, without the extension.
	Name   string
	Format events.Format

	url    *url.URL
	header http.Header
	client *http.Client
	// hide removes the secrets from a text.
	hide *strings.Replacer
}

// settings are the names that a file may have.
var settings = []string{"FORMAT", "VALUE", "URL", "HEADER_FILE", "USER_FILE"}

// Read reads the file of a receiver. It is an error if other users may read the file, or a file
// that it names. No error has a secret.
func Read(path string) (*Receiver, error) {
	text, err := ownfiles.ReadPath(path, ownfiles.ReadSecret)
	if absent := (*fs.PathError)(nil); errors.As(err, &absent) {
		return nil, fmt.Errorf("%s: %w", path, absent.Err)
	}
	if err != nil {
		return nil, err
	}
	r, err := parse(string(text), filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r.Name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	return r, CheckName(r.Name)
}

func parse(text, dir string) (*Receiver, error) {
	given, number := map[string]string{}, 0
	for line := range strings.Lines(text) {
		number++
		line, err := envvars.Read(line)
		if err != nil {
			return nil, fmt.Errorf("it %w", err)
		}
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		if !slices.Contains(settings, name) || given[name] != "" || value == "" {
			return nil, fmt.Errorf("line %d: want lines NAME=VALUE, each name once, of %s",
				number, strings.Join(settings, ", "))
		}
		if strings.HasSuffix(name, envvars.FileSuffix) && !filepath.IsAbs(value) && !envvars.MayBeSecret(value) {
			value = filepath.Join(dir, value)
		}
		given[name] = value
	}
	for _, name := range []string{"FORMAT", "URL"} {
		if given[name] == "" {
			return nil, fmt.Errorf("%s is missing", name)
		}
	}
	r := &Receiver{Format: events.Format(given["FORMAT"]), header: http.Header{}}
	if !slices.Contains(events.Formats, r.Format) || r.Format == events.StripeOverage {
		return nil, fmt.Errorf("FORMAT is %.80q, not cloudevents, stripe, openmeter or lago", given["FORMAT"])
	}
	switch value := given["VALUE"]; {
	case value == "":
	case r.Format != events.Stripe || value != "admitted" && value != "overage":
		return nil, errors.New("VALUE is admitted or overage, and only for FORMAT=stripe")
	case value == "overage":
		r.Format = events.StripeOverage
	}
	var err error
	if r.url, err = parseURL(given["URL"]); err != nil {
		return nil, err
	}
	if err := r.authorize(func(name string) string { return given[name] }); err != nil {
		return nil, err
	}
	r.header.Set("Content-Type", contentTypes[r.Format])
	r.header.Set("User-Agent", "petstorectl")
	r.client = newClient()
	return r, nil
}

var contentTypes = map[events.Format]string{
	events.Stripe:        "application/x-www-form-urlencoded",
	events.StripeOverage: "application/x-www-form-urlencoded",
	events.OpenMeter:     "application/cloudevents-batch+json",
	events.Lago:          "application/json",
	events.CloudEvents:   "application/cloudevents+json; charset=UTF-8",
}

var errURL = errors.New("URL is not https://HOST/PATH without a user; http is for this machine only")

func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return nil, errURL
	}
	ip := net.ParseIP(u.Hostname())
	if u.Scheme != "https" && (u.Scheme != "http" || u.Hostname() != "localhost" && !ip.IsLoopback()) {
		return nil, errURL
	}
	return u, nil
}

// authorize reads the secrets.
func (r *Receiver) authorize(getenv func(string) string) error {
	var secrets []string
	for _, name := range []string{"HEADER", "USER"} {
		secret, err := envvars.ReadSecret(getenv, name)
		switch {
		case err != nil:
			return err
		case secret.Value == "":
			continue
		case secret.Warning != "":
			return errors.New(secret.Warning)
		}
		if name == "USER" {
			user, password, _ := strings.Cut(secret.Value, ":")
			encoded := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
			r.header.Set("Authorization", "Basic "+encoded)
			secrets = append(secrets, encoded, user, password)
			continue
		}
		key, value, _ := strings.Cut(secret.Value, ":")
		if value = strings.TrimSpace(value); !headerName.MatchString(key) || !headerValue.MatchString(value) {
			return errors.New("HEADER_FILE has no header of the form NAME: VALUE")
		}
		r.header.Set(key, value)
		secrets = append(append(secrets, value), strings.Fields(value)...)
	}
	// The longest is first, because it may contain another one.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range secrets {
		if s != "" && !slices.Contains(schemes, s) {
			pairs = append(pairs, s, "…", url.QueryEscape(s), "…")
		}
	}
	r.hide = strings.NewReplacer(pairs...)
	return nil
}

var (
	headerName  = regexp.MustCompile(`^[A-Za-z0-9-]+$`)
	headerValue = regexp.MustCompile(`^[\x20-\x7e]+$`)
	// schemes are words in a header that are not secret.
	schemes = []string{"Bearer", "Basic", "Token"}
)

const (
	connectTimeout = 10 * time.Second
	requestTimeout = 30 * time.Second
)

func newClient() *http.Client {
	return &http.Client{
		Timeout:       requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: connectTimeout}).DialContext,
			TLSHandshakeTimeout: connectTimeout,
			ForceAttemptHTTP2:   true,
			MaxIdleConns:        1,
			IdleConnTimeout:     requestTimeout,
		},
	}
}
