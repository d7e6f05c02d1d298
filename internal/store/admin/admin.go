package admin

import "petstore.example/internal/store/pgconn"

// Admin is what operators of the platform need: its logins, its servers, and how long its data is
// kept.
type Admin struct {
	db *pgconn.DB

	Staff          Staff
	FailedRequests FailedRequests
	Limits         Limits
	Retention      Retention
	TenantData     TenantData
	Operation      Operation
}

// New returns the Admin of a database.
func New(db *pgconn.DB) Admin {
	return Admin{db, Staff{db}, FailedRequests{db}, Limits{db}, Retention{db}, TenantData{db}, Operation{db}}
}
