package operate

import (
	"context"
	"time"

	"petstore.example/internal/store/pgconn"
)

// Checkup is what petstorectl doctor asks the database.
type Checkup struct {
	// Version is Postgres's, for example "15.8".
	Version string
	// Role is the current role.
	Role Login
	// Now is the database's clock.
	Now time.Time
}

// Checkup queries the database.
func (d Operate) Checkup(ctx context.Context) (_ Checkup, err error) {
	defer pgconn.Wrap(&err, "check up")
	var row struct {
		Login
		Version string
		Now     time.Time
	}
	err = d.db.Get(ctx, &row, `
		select split_part(current_setting('server_version'), ' ', 1) as version, clock_timestamp() as now, l.*
		from (`+selectLogin+`) l where l.name = current_user`)
	return Checkup{row.Version, row.Login, row.Now}, err
}

// Catalogues is what the tenants have that sent requests last.
type Catalogues struct {
	// Tenants is how many were looked at, and Empty how many of them have no animals.
	Tenants, Empty int64
	// Ever says whether any tenant had an animal at any time.
	Ever bool
}

// Missing reports whether the animals are probably missing: they are removed with their tenant only, and nine of ten tenants have none.
// Many tenants that only look around have never had one.
func (c Catalogues) Missing() bool { return c.Ever && 10*c.Empty > 9*c.Tenants }

// cataloguesChecked is how many tenants Catalogues looks at, which takes a few milliseconds.
const cataloguesChecked = 200

// Catalogues looks for animals of the tenants that sent requests last.
func (d Operate) Catalogues(ctx context.Context) (c Catalogues, err error) {
	defer pgconn.Wrap(&err, "look for animals")
	err = d.db.Get(ctx, &c, `select tenants, empty, ever from count_catalogues($1)`, cataloguesChecked)
	return c, err
}
