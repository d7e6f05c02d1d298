package cmdutil

import (
	"context"
	"errors"

	"petstore.example/internal/envvars"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
)

// NewKeys says which deployments new keys are for by default, and what decides that.
type NewKeys struct {
	Environment keys.Environment
	By          string
}

// String is empty if each new key must name its environment.
func (n NewKeys) String() string {
	if n.Environment == "" {
		return ""
	}
	return string(n.Environment) + ", by " + n.By
}

// NewKeys decides by PETSTORE_ENVIRONMENT, by the key that "petstore dev" made, and by the live
// servers of the database. If these don't decide, it returns a usage Error with that hint.
func (f *Factory) NewKeys(ctx context.Context, db *store.DB, hint string) (NewKeys, error) {
	source, err := f.FindDatabase()
	if err != nil {
		return NewKeys{}, err
	}
	live, err := f.NewKeysOf(ctx, db, source)
	if e := (*Error)(nil); errors.As(err, &e) {
		err = e.WithHint(hint)
	}
	return live, err
}

// NewKeysOf is NewKeys for the database of that source, without a hint.
func (f *Factory) NewKeysOf(ctx context.Context, db *store.DB, source DatabaseSource) (NewKeys, error) {
	const variable = "PETSTORE_ENVIRONMENT"
	named, err := envvars.Environment(f.Getenv)
	if err != nil {
		return NewKeys{}, UsageErrorf("%v", err)
	}
	switch named {
	case "staging":
		return NewKeys{keys.Test, variable}, nil
	case "production":
		return NewKeys{keys.Live, variable}, nil
	}
	if source.Dev != nil {
		if token, err := keys.ParseToken(source.Dev.APIKey); err == nil {
			return NewKeys{token.Environment(), source.SetBy}, nil
		}
	}
	live, err := db.Operation.Environments(ctx)
	switch {
	case err != nil:
		return NewKeys{}, err
	case len(live) == 0:
		return NewKeys{}, UsageErrorf("no live server of this database says whether its keys are live or test ones")
	case len(live) > 1:
		return NewKeys{}, UsageErrorf("this database has live servers for live keys and for test keys")
	}
	return NewKeys{keys.Environment(live[0]), "the live servers of the database"}, nil
}
