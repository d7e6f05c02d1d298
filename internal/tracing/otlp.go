package tracing

import (
	"slices"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	otlp "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// The bits of Span.Flags: W3C's "sampled", and whether the parent is in another process.
const (
	flagSampled     = 0x001
	flagRemoteKnown = 0x100
	flagRemote      = 0x200
)

// encode returns the body of an export request.
func encode(of []Attr, traces []*Trace) ([]byte, error) {
	var spans []*otlp.Span
	for _, t := range traces {
		spans = t.appendTo(spans)
	}
	return proto.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: []*otlp.ResourceSpans{{
		Resource:   &resource.Resource{Attributes: keyValues(of)},
		ScopeSpans: []*otlp.ScopeSpans{{Scope: &common.InstrumentationScope{Name: "petstore"}, Spans: spans}},
	}}})
}

func (r *Trace) appendTo(spans []*otlp.Span) []*otlp.Span {
	for i := range r.spans {
		s := &r.spans[i]
		flags := uint32(flagSampled | flagRemoteKnown)
		if i == 0 && r.remote {
			flags |= flagRemote
		}
		out := &otlp.Span{
			TraceId: r.id[:], SpanId: s.id[:], Name: s.name, Kind: otlp.Span_SpanKind(s.kind), Flags: flags,
			StartTimeUnixNano: nanos(s.start), EndTimeUnixNano: nanos(s.end), Attributes: keyValues(s.attrs),
		}
		if s.parent != (SpanID{}) {
			out.ParentSpanId = s.parent[:]
		}
		if s.failed != "" {
			out.Status = &otlp.Status{Code: otlp.Status_STATUS_CODE_ERROR}
			out.Attributes = append(out.Attributes, keyValues([]Attr{String("error.type", s.failed)})...)
		}
		if i == 0 && r.dropped > 0 {
			out.Attributes = append(out.Attributes, keyValues([]Attr{Int("petstore.dropped_spans", int64(r.dropped))})...)
		}
		spans = append(spans, out)
	}
	return spans
}

func nanos(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }

func keyValues(attrs []Attr) []*common.KeyValue {
	all := make([]*common.KeyValue, 0, len(attrs)+1)
	for _, a := range attrs {
		v := &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: a.text}}
		if a.isNumber {
			v.Value = &common.AnyValue_IntValue{IntValue: a.number}
		}
		all = append(all, &common.KeyValue{Key: a.key, Value: v})
	}
	return slices.Clip(all)
}

// rejected returns how many spans the collector did not take, by its reply.
func rejected(reply []byte) int64 {
	var r collector.ExportTraceServiceResponse
	if proto.Unmarshal(reply, &r) != nil {
		return 0
	}
	return r.GetPartialSuccess().GetRejectedSpans()
}
