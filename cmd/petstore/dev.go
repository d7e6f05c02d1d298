package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/buildinfo"
	"petstore.example/internal/devfile"
	"petstore.example/internal/envvars"
	"petstore.example/internal/localpg"
	"petstore.example/internal/mail"
	"petstore.example/internal/ownfiles"
	"petstore.example/internal/server"
	"petstore.example/internal/server/config"
	"petstore.example/internal/store"
	"petstore.example/internal/store/migrate"
	"petstore.example/internal/webhooks"
)

// devOptions are the options of `petstore dev`.
type devOptions struct {
	Out io.Writer
	Log io.Writer

	Dir       string
	Addr      string
	AdminAddr string
}

func newDevCommand() *cobra.Command {
	o := &devOptions{}
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Start a private PostgreSQL, sample data and the server on this machine",
		Long: `Start the API with everything it needs: a private PostgreSQL whose data stays in --dir, a tenant
"demo" on the Pro plan with sample animals, a live and a test API key. Later starts have the same data
and the same keys. If PETSTORE_DATABASE_URL is set,
that database is used instead. Automatic bans of keys are short: 10 seconds, then 30, then a minute.`,
		Example: `  petstore dev
  petstore dev --addr 127.0.0.1:9000 --admin-addr 127.0.0.1:9001 --dir /tmp/store`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Out, o.Log = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return runDev(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.Dir, "dir", devfile.DefaultDir, "data directory")
	cmd.Flags().StringVar(&o.Addr, "addr", "127.0.0.1:8080", "address of the API")
	cmd.Flags().StringVar(&o.AdminAddr, "admin-addr", "127.0.0.1:8081", "address of the health checks and metrics")
	return cmd
}

func runDev(ctx context.Context, o *devOptions) error {
	if _, mistakes := envvars.Clean(os.Environ()); len(mistakes) > 0 {
		return errors.New(strings.Join(mistakes, "; "))
	}
	sockets, err := server.Listen(
		ctx,
		server.Address{Addr: o.Addr, Setting: "--addr"},
		server.Address{Addr: o.AdminAddr, Setting: "--admin-addr"},
	)
	if err != nil {
		return err
	}
	defer sockets.Close()
	ctx, databaseURL, stop, err := openDevDatabase(ctx, o)
	if err != nil {
		return err
	}
	defer stop()
	dir, err := ownfiles.Resolve(o.Dir)
	if err != nil {
		return err
	}
	say := func(line string) { _, _ = fmt.Fprintln(o.Log, line) }
	if err := migrate.Up(ctx, databaseURL, say); err != nil {
		return explainNamed(err)
	}
	note := devfile.File{
		BaseURL:     config.DefaultBaseURL(sockets.API.Addr().String()),
		AdminURL:    "http://" + sockets.Admin.Addr().String(),
		DatabaseURL: databaseURL,
	}
	tenant, err := createSample(ctx, databaseURL, dir, &note)
	if err != nil {
		return fmt.Errorf("create the sample tenant: %w", err)
	}
	if err := devfile.Write(dir, note); err != nil {
		return err
	}
	cfg, err := devConfig(dir, sockets, note)
	if err != nil {
		return err
	}
	if cfg.Mail == nil {
		cfg.Mail = mail.NewFiles(filepath.Join(dir, "mail"), func(path string) { say("a mail was written to " + path) })
	}
	started := func() { welcome(o.Out, o.Dir, note, tenant, staffPrefix(o.Dir, dir)) }
	err = server.Run(ctx, buildinfo.Read(version), &cfg, sockets, server.NewLogger(&cfg, o.Log), started)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) { // not a signal
		err = errors.Join(err, cause)
	}
	return err
}

// devConfig returns the configuration of the server.
func devConfig(dir string, sockets *server.Sockets, note devfile.File) (config.Config, error) {
	key, err := secretsKey(dir)
	if err != nil {
		return config.Config{}, err
	}
	cfg, err := config.Read(append(config.TracingVariables(os.Environ()),
		"PETSTORE_DATABASE_URL="+note.DatabaseURL,
		"PETSTORE_REDIS_URL="+os.Getenv("PETSTORE_REDIS_URL"),
		"PETSTORE_REDIS_URL_FILE="+os.Getenv("PETSTORE_REDIS_URL_FILE"),
		"PETSTORE_SECRETS_KEY="+key,
		"PETSTORE_SMTP_URL="+os.Getenv("PETSTORE_SMTP_URL"),
		"PETSTORE_SMTP_URL_FILE="+os.Getenv("PETSTORE_SMTP_URL_FILE"),
		"PETSTORE_MAIL_FROM="+os.Getenv("PETSTORE_MAIL_FROM"),
		"PETSTORE_ADDR="+sockets.API.Addr().String(),
		"PETSTORE_ADMIN_ADDR="+sockets.Admin.Addr().String(),
		"PETSTORE_BASE_URL="+note.BaseURL,
		"PETSTORE_LOG_FORMAT=text",
		"PETSTORE_LOG_LEVEL="+cmp.Or(envvars.Getenv("PETSTORE_LOG_LEVEL"), "info"),
	))
	cfg.Dev, cfg.IssueKey = true, "bin/petstorectl key issue "+sampleTenant
	cfg.WebhookRules = webhooks.LocalRules()
	return cfg, err
}

// secretsKey returns the key of webhooks that an earlier start left in the data directory, or makes
// one.
func secretsKey(dir string) (string, error) {
	const name = "secrets-key"
	root, err := ownfiles.OpenDir(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	text, err := ownfiles.ReadSecret(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		text = []byte(webhooks.NewKey())
		err = ownfiles.WriteFile(root, name, text)
	}
	return string(text), err
}

// openDevDatabase returns the URL of PETSTORE_DATABASE_URL, or starts a private server and returns
// its URL. The returned context also ends when the private server does.
func openDevDatabase(ctx context.Context, o *devOptions) (_ context.Context, url string, stop func(), err error) {
	named, err := envvars.ReadSecret(os.Getenv, config.DatabaseVariable)
	if err != nil {
		return ctx, "", nil, err
	}
	if named.Value != "" {
		dir, err := ownfiles.MakeDir(o.Dir) // dev.json holds a key and the database's password.
		if err != nil {
			return ctx, "", nil, fmt.Errorf("create the data directory: %w; choose another with --dir", err)
		}
		return ctx, named.Value, func() {}, dir.Close()
	}
	// localpg.Start creates the directory so that PostgreSQL's user, which is not root, can reach
	// its data below.
	server, err := localpg.Start(ctx, localpg.Options{Dir: o.Dir, Log: o.Log})
	if errors.Is(err, localpg.ErrNotInstalled) {
		return ctx, "", nil, fmt.Errorf("%w; or set PETSTORE_DATABASE_URL to a database of your own", err)
	}
	if err != nil {
		return ctx, "", nil, err
	}
	stop = func() {
		if err := server.Stop(context.WithoutCancel(ctx)); err != nil {
			_, _ = fmt.Fprintln(o.Log, err)
		}
	}
	if err := store.CreateDatabase(ctx, server.URL("postgres", "postgres"), devDatabase); err != nil {
		stop()
		return ctx, "", nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		<-server.Done()
		cancel(errors.New("the private PostgreSQL stopped; see its log " + filepath.Join(o.Dir, "postgres.log")))
	}()
	return ctx, server.URL("postgres", devDatabase), stop, nil
}

// explainNamed adds to the error of an unreachable database that PETSTORE_DATABASE_URL names it.
func explainNamed(err error) error {
	named, _ := envvars.ReadSecret(os.Getenv, config.DatabaseVariable)
	if named.Value == "" || !errors.Is(err, store.ErrUnavailable) {
		return err
	}
	return fmt.Errorf(
		"%s is set, so petstore dev uses that database; unset it for a database of its own: %w",
		named.SetBy,
		err,
	)
}

const devDatabase = "petstore"
