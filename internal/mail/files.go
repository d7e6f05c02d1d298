package mail

import (
	"context"
	"net/mail"
	"path/filepath"
	"time"

	"petstore.example/internal/ownfiles"
)

// files writes mails into a folder.
type files struct {
	dir     string
	written func(path string)
}

// NewFiles returns a transport that writes each mail to a file of dir that only this user can read,
// and makes dir if need be. Then it calls written.
func NewFiles(dir string, written func(path string)) Transport { return files{dir, written} }

// Send implements Transport.
func (f files) Send(_ context.Context, m Message) Result {
	b, err := build(&mail.Address{Name: product, Address: "petstore@localhost"}, m)
	if err != nil {
		return Result{Failed, err.Error()}
	}
	root, err := ownfiles.MakeDir(f.dir)
	if err != nil {
		return Result{RelayDown, err.Error()}
	}
	defer root.Close()
	name := time.Now().UTC().Format("20060102-150405-") + m.ID.String() + ".eml"
	if err = ownfiles.WriteFile(root, name, b.raw); err != nil {
		return Result{RelayDown, err.Error()}
	}
	f.written(filepath.Join(f.dir, name))
	return Result{Outcome: Sent}
}
