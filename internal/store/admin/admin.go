package operate

import "petstore.example/internal/store/pgconn"

// Operate is what those need who operate the platform: its logins, its servers, and what it stores
// for how long.
type Operate struct {
	db *pgconn.DB

	Staff          Staff
	FailedRequests FailedRequests
	Limits         Limits
	Retention      Retention
	TenantData     TenantData
	Operation      Operation
}

// New returns that of a database.
func New(db *pgconn.DB) Operate {
	return Operate{db, Staff{db}, FailedRequests{db}, Limits{db}, Retention{db}, TenantData{db}, Operation{db}}
}
