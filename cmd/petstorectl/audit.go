package main

import (
	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
)

func newCmdAudit(f *factory) *cobra.Command {
	return newGroup("audit", "Show the audit trail", newCmdAuditList(f, nil))
}

var auditView = view[audit.Entry]{
	{name: "id", value: func(e audit.Entry) any { return e.ID }},
	{name: "at", value: func(e audit.Entry) any { return e.At }, short: true},
	{name: "actor", value: func(e audit.Entry) any { return e.Actor }, short: true, least: textWidth},
	{name: "action", value: func(e audit.Entry) any { return e.Action }, short: true},
	{name: "tenant", value: func(e audit.Entry) any { return e.Tenant }},
	{name: "subject", value: func(e audit.Entry) any { return e.Subject }, short: true, least: idWidth},
	{name: "before", value: func(e audit.Entry) any { return e.Before }},
	{name: "after", value: func(e audit.Entry) any { return e.After }},
	{name: "reason", value: func(e audit.Entry) any { return e.Reason }, short: true, least: textWidth},
}
