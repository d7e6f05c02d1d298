package mail

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"strings"
	texttemplate "text/template"
	"time"

	"github.com/google/uuid"
)

// Kinds of notices that are about no event.
const (
	// Confirm asks the owner of an address to confirm it.
	Confirm = "confirm"
	// Invite has a link to sign in, by a token that was just made.
	Invite = "invite"
	// Limit says that no more is mailed that day.
	Limit = "limit"
)

// product is what pages call the site.
const product = "Animal Store"

// Notice is what a mail is to say.
type Notice struct {
	ID uuid.UUID
	// Kind is a kind of this package, or the type of an event.
	Kind string
	// Event is the event as webhooks get it. The kinds of this package need none.
	Event []byte
	// Tenant is the tenant's name, and Address its address.
	TenantID        int64
	Tenant, Address string
	// Token is that of an invitation, and Ends its end.
	Token string
	Ends  time.Time
}

// content is what a mail says. Each line is a paragraph.
type content struct {
	Subject string
	Lines   []string
	// Link is an address with its label, "" for none.
	Link, Label string
}

// page is a content with what every mail has.
type page struct {
	content
	Product, Tenant, Site, Unsubscribe string
}

//go:embed mail.txt mail.html
var templates embed.FS

var (
	textOf = texttemplate.Must(texttemplate.ParseFS(templates, "mail.txt"))
	htmlOf = template.Must(template.ParseFS(templates, "mail.html"))
)

// Render makes the mail of a notice. It fails if the event is not one that is mailed.
func (l *Links) Render(n Notice) (Message, error) {
	c, err := l.contentOf(n)
	if err != nil {
		return Message{}, fmt.Errorf("make mail %s of %s: %w", n.ID, n.Kind, err)
	}
	c.Subject = oneLine(c.Subject)
	for i, line := range c.Lines {
		c.Lines[i] = oneLine(line)
	}
	p := page{content: c, Product: product, Tenant: oneLine(n.Tenant), Site: l.site}
	m := Message{ID: n.ID, To: n.Address, Subject: c.Subject}
	if n.Kind != Confirm && n.Kind != Invite {
		p.Unsubscribe = l.URL(ToUnsubscribe, n.TenantID, n.Address)
		if strings.HasPrefix(l.site, "https://") {
			m.Unsubscribe = p.Unsubscribe
		}
	}
	var text, html strings.Builder
	if err = textOf.Execute(&text, p); err == nil {
		err = htmlOf.Execute(&html, p)
	}
	m.Text, m.HTML = text.String(), html.String()
	return m, err
}

func (l *Links) contentOf(n Notice) (content, error) {
	account := l.site + "/account"
	switch n.Kind {
	case Confirm:
		return content{
			"Confirm this address for " + n.Tenant,
			[]string{
				"This address was given for " + n.Tenant + " at " + product + ". Confirm it, and mail about this " +
					"account comes here: keys that end or are banned, changes of the plan, quotas that are used " +
					"up, and webhooks that fail.",
				"If you do not know the account, ignore this mail.",
			},
			l.URL(ToConfirm, n.TenantID, n.Address),
			"Confirm this address",
		}, nil
	case Invite:
		return content{
			"Sign in to " + n.Tenant,
			[]string{"This link signs you in to the account " + n.Tenant + ", once, until " + instant(n.Ends) + "."},
			account + "/invitation#" + n.Token, "Sign in",
		}, nil
	case Limit:
		return content{
			"No more mail today",
			[]string{"20 mails about your account were sent today. What else happens until 00:00 UTC is not mailed: " +
				"your account shows it."},
			account, "Your account",
		}, nil
	}
	words := events[n.Kind]
	if words == nil {
		return content{}, fmt.Errorf("no mail is made of it")
	}
	var e struct {
		Data json.RawMessage `json:"data"`
	}
	var d data
	if err := json.Unmarshal(n.Event, &e); err != nil {
		return content{}, err
	}
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return content{}, err
	}
	c := words(&d)
	c.Link = account + c.Link
	return c, nil
}

// instant is a time as pages show it.
func instant(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04:05 UTC") }
