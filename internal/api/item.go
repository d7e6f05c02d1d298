package api

import (
	"context"
	"net/http"

	"petstore.example/internal/api/httpfield"
	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/api/problem"
	"petstore.example/internal/catalog"
)

// showItem responds with the item whose ID is in that parameter of the path. none is the code if
// there is no such item.
func showItem[T any](
	x *exchange,
	param string,
	none *problem.Code,
	get func(ctx context.Context, tenantID, id int64) (T, error),
) error {
	id, err := x.itemID(param, none)
	if err != nil {
		return err
	}
	item, err := get(x.Request.Context(), x.Caller.Tenant.ID, id)
	if err != nil {
		return err
	}
	return x.writeItem(&item)
}

// changeItem changes the item whose ID is in that parameter of the path, and responds with the
// item. decode reads the change from the body.
func changeItem[T, C any](
	a *api,
	x *exchange,
	param string,
	none *problem.Code,
	decode func(data []byte, strict bool) (C, error),
	change func(ctx context.Context, tenantID, id int64, c C) (T, error),
) error {
	data, strict, err := readBody(a.bodies, x)
	if err != nil {
		return err
	}
	asked, err := decode(data, strict)
	if err != nil {
		return err
	}
	return showItem(
		x,
		param,
		none,
		func(ctx context.Context, tenantID, id int64) (T, error) { return change(ctx, tenantID, id, asked) },
	)
}

func (x *exchange) itemID(param string, none *problem.Code) (int64, error) {
	id, ok := parseID(x.Param(param))
	if !ok {
		return 0, none.WithMessage(param + " must be a 64-bit integer.")
	}
	return id, nil
}

// writeItem responds 200 with an animal, an order or a list of one item, and its ETag. It responds
// 304 if the client has the current one.
func (x *exchange) writeItem(v any) error {
	b, err := jsonbody.Encode(v)
	if err != nil {
		return err
	}
	defer b.Release()
	tag := itemTag(b.Bytes())
	x.set("ETag", tag)
	if x.isRead() && httpfield.NoneMatch(x.Request.Header["If-None-Match"], tag) {
		x.write(http.StatusNotModified, nil)
		return nil
	}
	x.write(http.StatusOK, b.Bytes())
	return nil
}

// ifMatch returns the precondition of a PATCH by If-Match (RFC 9110, section 13.1.1), nil if the
// request has none. It compares strongly: a weak ETag never matches.
func ifMatch[T any](x *exchange) func(T) error {
	values, given := x.Request.Header["If-Match"]
	if !given {
		return nil
	}
	return func(item T) error {
		b, err := jsonbody.Encode(&item)
		if err != nil {
			return err
		}
		defer b.Release()
		return matchTag(values, itemTag(b.Bytes()))
	}
}

// matchTag compares the values of If-Match with the current tag.
func matchTag(values []string, tag string) error {
	switch httpfield.Match(values, tag) {
	case httpfield.Matches:
		return nil
	case httpfield.MatchesWeakly:
		return errWeakTag
	case httpfield.NoTag:
		return errNoTag
	default:
		return catalog.ErrPreconditionFailed
	}
}

// The errors of preconditions that fail although nobody changed the item.
var (
	errWeakTag = failedPrecondition(`If-Match has the current ETag in its weak form W/"…", which never matches. ` +
		`A proxy that compresses responses made it weak: send the ETag without W/.`)
	errNoTag = failedPrecondition(`If-Match must be * or a list of ETags, each in double quotes as you received it.`)
)

// failedPrecondition returns an error that the store recognizes as ErrPreconditionFailed.
func failedPrecondition(message string) *problem.Error {
	e := problem.PreconditionFailed.WithMessage(message)
	e.Cause = catalog.ErrPreconditionFailed
	return e
}
