package api

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"petstore.example/internal/catalog"
)

// decodeNewPet reads the contract's NewPet. All that is wrong with its fields is said at once.
func decodeNewPet(data []byte) (catalog.NewPet, error) {
	o, err := readObject(data, "name", "categoryId", "status")
	if err != nil {
		return catalog.NewPet{}, err
	}
	var p problems
	pet := catalog.NewPet{Name: p.name(o), CategoryID: p.categoryID(o), Status: p.status(o)}
	if len(p) > 0 {
		return catalog.NewPet{}, codeValidationFailed.because(p.String())
	}
	return pet, nil
}

// problems collects what is wrong with a request, so that all of it is said at once.
type problems []string

func (p *problems) add(problem string) { *p = append(*p, problem) }

func (p *problems) String() string { return strings.Join(*p, "; ") + "." }

func (p *problems) name(o object) string {
	m, ok := o["name"]
	switch {
	case !ok:
		p.add("name is required")
	case m.kind != jsontext.KindString:
		p.add("name must be a string, not " + describe(m.kind))
	default:
		if err := catalog.CheckName(m.text); err != nil {
			p.add(err.Error())
		}
	}
	return m.text
}

func (p *problems) categoryID(o object) int64 {
	m, ok := o["categoryId"]
	switch {
	case !ok:
		p.add("categoryId is required")
		return 0
	case m.kind != jsontext.KindNumber:
		p.add("categoryId must be an integer, not " + describe(m.kind))
		return 0
	}
	n, err := parseInteger(m.text)
	if err != nil {
		p.add("categoryId " + err.Error())
	}
	return n
}

func (p *problems) status(o object) catalog.Status {
	m, ok := o["status"]
	if !ok {
		return catalog.Available
	}
	status, valid := catalog.ParseStatus(m.text)
	switch {
	case m.kind != jsontext.KindString:
		p.add("status must be a string, not " + describe(m.kind))
	case !valid:
		p.add("status must be one of available, pending, sold")
	}
	return status
}
