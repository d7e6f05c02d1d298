package tenant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

// Invitation is a link that signs in to a tenant's page. The link is "" after a dry run.
type Invitation struct{ tenant, link string }

// InvitationView shows an invitation.
var InvitationView = output.View[Invitation]{
	{Name: "tenant", Value: func(i Invitation) any { return i.tenant }},
	{Name: "link", Value: func(i Invitation) any { return i.link }},
}

func newCmdInvite(f *cmdutil.Factory) *cobra.Command {
	var (
		base string
		mail bool
	)
	c := &cmdutil.Change[Invitation]{Factory: f, View: InvitationView, Secret: "the link"}
	c.Again = func(i Invitation) string { return "make another link: petstorectl tenant invite " + i.tenant }
	c.Check = func(*cobra.Command) (err error) {
		if mail {
			c.Secret = ""
			return nil
		}
		base, err = baseURL(f, base)
		return err
	}
	c.Do = func(ctx context.Context, db *store.DB, by audit.By) (Invitation, error) {
		secret, digest := keys.NewSecret()
		of, err := f.NewKeys(ctx, db, "say it: PETSTORE_ENVIRONMENT=production or PETSTORE_ENVIRONMENT=staging")
		if err != nil {
			return Invitation{}, err
		}
		if mail {
			t, err := db.SignIns.InviteByMail(ctx, by, c.Subject.Tenant, of.Environment)
			return Invitation{tenant: t.Name}, err
		}
		t, err := db.SignIns.Invite(ctx, by, c.Subject.Tenant, of.Environment, digest)
		i := Invitation{tenant: t.Name}
		if !by.DryRun {
			i.link = base + "/account/invitation#" + secret
		}
		return i, err
	}
	c.Explain = func(ctx context.Context, err error) error {
		if errors.Is(err, plans.ErrTenantSuspended) {
			return cmdutil.RefusedErrorf("tenant %s is suspended: nobody can sign in to its page", c.Subject.Tenant)
		}
		return f.Explain(ctx, err, c.Subject)
	}
	c.Notice = func(i Invitation) string {
		if mail {
			return "a link that signs in to the page of tenant " + i.tenant + " is sent to its address"
		}
		return "made a link that signs in to the page of tenant " + i.tenant
	}
	c.Print = func(_ context.Context, _ *store.DB, i Invitation) error {
		if !f.DryRun && !mail {
			f.Messagef("send the link now, it is not shown again: it works once, within 15 minutes")
		}
		if p := f.Printer(); p.Whole() || f.DryRun || mail {
			return output.Item(p, InvitationView, i)
		}
		_, err := fmt.Fprintln(f.Out, i.link)
		return err
	}
	cmd := c.Command(newInviteTexts(), cmdutil.TenantArg(f, &c.Subject.Tenant))
	cmd.Flags().BoolVar(&mail, "mail", false, "have a server send the link to the tenant's address")
	cmdutil.StringFlag(cmd, &base, "url", "the `URL` of the API (default: PETSTORE_BASE_URL)")
	return cmd
}

func newInviteTexts() *cobra.Command {
	return &cobra.Command{
		Use:   "invite TENANT",
		Short: "Print a link once that signs a customer in to their page",
		Long: `Print a link by which a customer signs in to the page /account without a key. It
works once, within 15 minutes, and can't be shown again. The page shows what
the tenant uses, and makes and revokes keys: send it only to a
person you know.

The link begins with the address of the API: that of --url, PETSTORE_BASE_URL or
.petstore/dev.json. It is for deployments of the kind for which key issue makes
keys without --environment.

With --mail it is printed nowhere: a server makes it when it sends it to the
tenant's address, which must be confirmed, and the 15 minutes begin then.`,
		Example: `  petstorectl tenant invite acme --url https://api.example.com/v1
  petstorectl tenant invite acme --mail
  petstorectl tenant invite acme --reason "lost their keys, ticket 88"`,
	}
}

// baseURL returns the public address of the API without its /v1.
func baseURL(f *cmdutil.Factory, flag string) (string, error) {
	text := cmp.Or(flag, f.Getenv("PETSTORE_BASE_URL"))
	if source, err := f.FindDatabase(); text == "" && err == nil && source.Dev != nil {
		text = source.Dev.BaseURL
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.RawQuery != "" ||
		u.Fragment != "" || u.User != nil || strings.Trim(u.Path, "/") != "" && path.Base(u.Path) != "v1" {
		if text != "" {
			return "", cmdutil.UsageErrorf("--url or PETSTORE_BASE_URL is no address such as https://HOST/v1")
		}
		return "", cmdutil.UsageErrorf(
			"the address of the API is not known: give --url https://HOST/v1, or set PETSTORE_BASE_URL",
		)
	}
	return strings.TrimSuffix(strings.TrimSuffix(text, "/"), "/v1"), nil
}
