package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/cluster"
	"petstore.example/internal/store"
	"petstore.example/internal/store/storetest"
)

func TestCheckup(t *testing.T) {
	t.Parallel()
	database := storetest.New(t)
	owner, api := storetest.Open(t, database.URL, store.Options{}), storetest.Open(t, database.URL, store.Options{AsAPI: true})
	for name, test := range map[string]struct {
		db         *store.DB
		role       string
		ownsTables bool
	}{"the owner": {owner, "postgres", true}, "the API": {api, "petstore_api", false}} {
		c, err := test.db.Checkup(t.Context())
		if err != nil || c.Role != test.role || c.OwnsTables != test.ownsTables || !c.MayServe || c.Version == "" ||
			time.Since(c.Now).Abs() > time.Minute {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

func TestClusterState(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, storetest.New(t).APIURL, store.Options{})
	var want cluster.State
	var err error
	for _, b := range []cluster.Heartbeat{{ServerID: "a", Redis: "r"}, {ServerID: "b", Redis: "r"}} {
		if want, err = db.Cluster.Renew(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	got, err := db.Cluster.State(t.Context())
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("(-renewed +read):\n%s%v", diff, err)
	}
}
