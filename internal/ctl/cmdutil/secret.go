package cmdutil

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"petstore.example/internal/ctl/output"
	"petstore.example/internal/ctl/profiles"
	"petstore.example/internal/envvars"
)

// AskSecret reads a secret of that kind from stdin with read. On a terminal it prompts for it
// without echo.
func (s *IOStreams) AskSecret(
	ctx context.Context,
	what string,
	read func(context.Context) (string, error),
) (text string, err error) {
	if s.InTTY {
		_, _ = io.WriteString(s.ErrOut, strings.ToUpper(what[:1])+what[1:]+": ")
		text, err = s.ReadPassword(ctx)
		s.Messagef("")
	} else {
		text, err = read(ctx)
	}
	text, readErr := envvars.Read(text)
	if readErr != nil {
		return "", UsageErrorf("the text on stdin %v", readErr)
	}
	if errors.Is(err, io.EOF) || err == nil && text == "" {
		return "", UsageErrorf("no %s on stdin", what).WithHint("redirect a file to the command: petstorectl … < FILE")
	}
	return text, err
}

// expiryNotice is how long before a secret expires a person is told.
const expiryNotice = 14 * 24 * time.Hour

// noteExpiry tells a person that the secret of the profile expires soon.
func noteExpiry(f *Factory, source DatabaseSource) {
	if source.Profile == nil || source.Profile.ExpiresAt.IsZero() || !f.OutTTY {
		return
	}
	left := source.Profile.ExpiresAt.Sub(f.Now())
	if left <= 0 || left > expiryNotice {
		return
	}
	f.Messagef("petstorectl: your secret expires at %s: ask an administrator to run: petstorectl staff rotate %s",
		output.Text(source.Profile.ExpiresAt), source.Target.Login)
}

// inProduction returns a question, prefixed with the environment if the change is made in
// production.
func inProduction(f *Factory, question string) string {
	source, err := f.FindDatabase()
	if err != nil || source.Environment != profiles.Production {
		return question
	}
	return fmt.Sprintf(
		"%s (%s): %s",
		f.ErrColors.Status(string(source.Environment)),
		output.Clean(source.Target.Host),
		question,
	)
}
