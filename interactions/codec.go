package interactions

// Requests and verdicts are encoded and decoded by generated code, as the actor's events are.
//
//go:generate go tool easyjson -pkg -no_std_marshalers -output_filename wire_easyjson.go .
//go:generate sed -i -e "/mailru.easyjson\"$/d" -e "/ easyjson.Marshaler$/d" wire_easyjson.go
