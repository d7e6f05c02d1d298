package store_test

import (
	"errors"
	"strings"
	"testing"

	"petstore.example/internal/store"
	"petstore.example/internal/store/storetest"
)

func TestCheckSchema(t *testing.T) {
	t.Parallel()
	url, _ := emptySchema(t)
	if err := store.CheckSchema(t.Context(), url); err == nil || !strings.Contains(err.Error(), "petstorectl migrate up") {
		t.Errorf("an empty schema: %v, want what to do", err)
	}
	ready := storetest.New(t).URL
	if err := store.CheckSchema(t.Context(), ready); err != nil {
		t.Errorf("a migrated database: %v", err)
	}
	owner := open(t, ready, store.Options{})
	if err := store.Exec(t.Context(), owner, `update schema_migrations set dirty = true`); err != nil {
		t.Fatal(err)
	}
	var dirty store.DirtyError
	if err := store.CheckSchema(t.Context(), ready); !errors.As(err, &dirty) {
		t.Errorf("a migration that was broken off: %v, want DirtyError", err)
	}
}
