package doctor

import (
	"context"
	"fmt"
	"strings"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
)

// checkRole says what the role may do with petstorectl.
func checkRole(role store.Login, source cmdutil.DatabaseSource) Finding {
	f := Finding{check: "role", status: statusOK}
	switch {
	case role.Superuser && source.Dev != nil:
		f.detail = "role " + role.Name + " is a superuser, as petstore dev made it"
	case role.Superuser:
		f.status, f.detail = statusWarn, "role "+role.Name+" is a superuser"
		f.advice = "use a login in petstore_support or petstore_billing, and the owner of the tables for migrations: see docs/roles.md"
	case role.Owner:
		f.detail = "role " + role.Name + " owns the tables, so it may run all commands"
	case role.Support && role.Billing:
		f.detail = "role " + role.Name + " is a member of petstore_support and petstore_billing"
	case role.Support:
		f.detail = "role " + role.Name + " is a member of petstore_support"
	case role.Billing:
		f.detail = "role " + role.Name + " is a member of petstore_billing"
	default:
		f.status, f.detail = statusFail, "role "+role.Name+" is a member of neither petstore_support nor petstore_billing"
		if role.API {
			f.detail += ", but of petstore_api, the role of servers"
		}
		f.advice = "ask an administrator for a login in one of them: see docs/roles.md"
	}
	return f
}

// checkLogins shows whether the servers may do more in the database than they need.
func checkLogins(ctx context.Context, db *store.DB) Finding {
	logins, err := db.ServerLogins(ctx)
	if err != nil {
		return Finding{"logins", statusFail, "can't read the logins of the servers: " + err.Error(), "run doctor again"}
	}
	var names, excess []string
	for _, l := range logins {
		names = append(names, l.Name)
		if more := l.Excess(); more != "" {
			excess = append(excess, l.Name+" "+more)
		}
	}
	f := Finding{"logins", statusOK, "no server is connected", ""}
	if len(names) > 0 {
		f.detail = fmt.Sprintf("servers connect as %s, with no more rights than they need", strings.Join(names, ", "))
	}
	if len(excess) > 0 {
		f.status = statusWarn
		f.detail = output.Count(int64(len(excess)), "login") + " of servers with too many rights: " + strings.Join(excess, "; ")
		f.advice = "give servers a login in petstore_api alone: see docs/roles.md"
	}
	return f
}
