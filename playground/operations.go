package playground

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"holdfast/playground/world"
)

// handlers are the operations that the playground knows, by method and path template.
var handlers map[string]handler

func init() { // not a literal: the handlers reach the table again through the server
	handlers = map[string]handler{
		"GET /channels/{channel_id}/messages":                                           listMessages,
		"POST /channels/{channel_id}/messages":                                          createMessage,
		"GET /channels/{channel_id}/messages/{message_id}":                              getMessage,
		"PATCH /channels/{channel_id}/messages/{message_id}":                            editMessage,
		"DELETE /channels/{channel_id}/messages/{message_id}":                           deleteMessage,
		"POST /channels/{channel_id}/messages/{message_id}/threads":                     openThread,
		"POST /channels/{channel_id}/threads":                                           openThread,
		"GET /channels/{channel_id}":                                                    getChannel,
		"PATCH /channels/{channel_id}":                                                  editChannel,
		"DELETE /channels/{channel_id}":                                                 deleteChannel,
		"POST /channels/{channel_id}/typing":                                            typing,
		"GET /channels/{channel_id}/threads/archived/public":                            archived(world.TypePublic),
		"GET /channels/{channel_id}/threads/archived/private":                           archived(world.TypePrivate),
		"GET /guilds/{guild_id}":                                                        getGuild,
		"GET /guilds/{guild_id}/channels":                                               getChannels,
		"GET /guilds/{guild_id}/threads/active":                                         activeThreads,
		"GET /users/@me":                                                                getMe,
		"GET /applications/@me":                                                         getApplication,
		"GET /oauth2/applications/@me":                                                  getApplication,
		"GET /gateway":                                                                  getGateway,
		"GET /gateway/bot":                                                              getGatewayBot,
		"GET /applications/{application_id}/commands":                                   listCommands,
		"PUT /applications/{application_id}/commands":                                   putCommands,
		"POST /applications/{application_id}/commands":                                  postCommand,
		"GET /applications/{application_id}/commands/{command_id}":                      getCommand,
		"DELETE /applications/{application_id}/commands/{command_id}":                   deleteCommand,
		"GET /applications/{application_id}/guilds/{guild_id}/commands":                 listCommands,
		"PUT /applications/{application_id}/guilds/{guild_id}/commands":                 putCommands,
		"POST /applications/{application_id}/guilds/{guild_id}/commands":                postCommand,
		"GET /applications/{application_id}/guilds/{guild_id}/commands/{command_id}":    getCommand,
		"DELETE /applications/{application_id}/guilds/{guild_id}/commands/{command_id}": deleteCommand,
		"POST /webhooks/{webhook_id}/{webhook_token}":                                   followUp,
		"GET /webhooks/{webhook_id}/{webhook_token}/messages/@original":                 hookGet,
		"PATCH /webhooks/{webhook_id}/{webhook_token}/messages/@original":               hookEdit,
		"DELETE /webhooks/{webhook_id}/{webhook_token}/messages/@original":              hookDelete,
		"GET /webhooks/{webhook_id}/{webhook_token}/messages/{message_id}":              hookGet,
		"PATCH /webhooks/{webhook_id}/{webhook_token}/messages/{message_id}":            hookEdit,
		"DELETE /webhooks/{webhook_id}/{webhook_token}/messages/{message_id}":           hookDelete,
		"POST /interactions/{interaction_id}/{interaction_token}/callback":              callback,
	}
}

func (s *Server) bot() string { return s.world.Meta().Application }

func listMessages(s *Server, c *call) (int, any, error) {
	p := world.Page{Before: c.query.Get("before"), After: c.query.Get("after"), Around: c.query.Get("around")}
	p.Limit, _ = strconv.Atoi(c.query.Get("limit")) // checked already
	list, err := s.world.Messages(c.params["channel_id"], p)
	return http.StatusOK, list, err
}

func draft(c *call) (world.Draft, error) {
	d, err := decode[world.Draft](c.body)
	d.Files = c.files
	return d, err
}

func createMessage(s *Server, c *call) (int, any, error) {
	d, err := draft(c)
	if err != nil {
		return 0, nil, err
	}
	m, _, err := s.world.Post(s.bot(), c.params["channel_id"], d)
	return http.StatusOK, m, err
}

func getMessage(s *Server, c *call) (int, any, error) {
	m, err := s.world.Message(c.params["channel_id"], c.params["message_id"])
	return http.StatusOK, m, err
}

func editMessage(s *Server, c *call) (int, any, error) {
	d, err := draft(c)
	if err != nil {
		return 0, nil, err
	}
	m, err := s.world.Edit(s.bot(), c.params["channel_id"], c.params["message_id"], d)
	return http.StatusOK, m, err
}

func deleteMessage(s *Server, c *call) (int, any, error) {
	return http.StatusNoContent, nil, s.world.Delete(s.bot(), c.params["channel_id"], c.params["message_id"])
}

func openThread(s *Server, c *call) (int, any, error) {
	d, err := decode[world.ThreadDraft](c.body)
	if err != nil {
		return 0, nil, err
	}
	t, err := s.world.OpenThread(s.bot(), c.params["channel_id"], c.params["message_id"], d)
	return http.StatusCreated, t, err
}

func getChannel(s *Server, c *call) (int, any, error) {
	ch, err := s.world.Channel(c.params["channel_id"])
	return http.StatusOK, ch, err
}

func editChannel(s *Server, c *call) (int, any, error) {
	d, err := decode[world.ChannelDraft](c.body)
	if err != nil {
		return 0, nil, err
	}
	ch, err := s.world.Change(s.bot(), c.params["channel_id"], d)
	return http.StatusOK, ch, err
}

func deleteChannel(s *Server, c *call) (int, any, error) {
	ch, err := s.world.DeleteChannel(s.bot(), c.params["channel_id"])
	return http.StatusOK, ch, err
}

func typing(s *Server, c *call) (int, any, error) {
	return http.StatusNoContent, nil, s.world.Typing(s.bot(), c.params["channel_id"])
}

func archived(kind int) handler {
	return func(s *Server, c *call) (int, any, error) {
		var before int64
		if b := c.query.Get("before"); b != "" {
			t, err := time.Parse(time.RFC3339Nano, b)
			if err != nil {
				return 0, nil, world.Invalid("before", "DATE_TIME_TYPE_PARSE", "not a time")
			}
			before = t.UnixMilli()
		}
		limit, _ := strconv.Atoi(c.query.Get("limit")) // checked already
		list, err := s.world.Archive(c.params["channel_id"], kind, before, limit)
		return http.StatusOK, list, err
	}
}

func (s *Server) inGuild(c *call) error {
	if g, ok := c.params["guild_id"]; ok && g != s.world.Meta().Guild {
		return world.ErrUnknownGuild
	}
	return nil
}

func activeThreads(s *Server, c *call) (int, any, error) {
	return http.StatusOK, s.world.Active(), s.inGuild(c)
}

func getGuild(s *Server, c *call) (int, any, error) {
	return http.StatusOK, s.world.Guild(), s.inGuild(c)
}

func getChannels(s *Server, c *call) (int, any, error) {
	return http.StatusOK, s.world.GuildChannels(), s.inGuild(c)
}

func getMe(s *Server, _ *call) (int, any, error) {
	me := s.world.Me()
	me["mfa_enabled"], me["locale"], me["verified"], me["email"] = false, "en-US", true, nil
	return http.StatusOK, me, nil
}

func getApplication(s *Server, _ *call) (int, any, error) {
	m, me := s.world.Meta(), s.world.Me()
	var endpoint any
	if u := s.currentEdge().InteractionsURL; u != "" {
		endpoint = u
	}
	owner := s.world.UserJSON(m.Owner)
	return http.StatusOK, obj{"id": m.Application, "name": me["username"], "icon": nil, "description": "",
		"type": nil, "verify_key": hex.EncodeToString(s.world.Key().Public().(ed25519.PublicKey)), "flags": 1 << 19,
		"flags_new": "524288", "redirect_uris": []string{}, "interactions_endpoint_url": endpoint,
		"role_connections_verification_url": nil, "owner": owner, "approximate_guild_count": 1,
		"approximate_user_install_count": 0, "approximate_user_authorization_count": 0, "explicit_content_filter": 0,
		"team": nil, "eligible_oauth2_scopes": []string{}, "bot": me, "bot_public": false, "bot_require_code_grant": false}, nil
}

func getGateway(s *Server, _ *call) (int, any, error) {
	return http.StatusOK, obj{"url": s.Info().Gateway}, nil
}

func getGatewayBot(s *Server, _ *call) (int, any, error) {
	return http.StatusOK, obj{"url": s.Info().Gateway, "shards": 1, "session_start_limit": obj{
		"total": 1000, "remaining": 1000, "reset_after": 86_400_000, "max_concurrency": 1}}, nil
}

func (s *Server) ours(c *call) error {
	if c.params["application_id"] != s.bot() {
		return &world.Error{Status: 403, Code: 20012, Message: "You are not authorized to perform this action on this application"}
	}
	return s.inGuild(c)
}

func listCommands(s *Server, c *call) (int, any, error) {
	return http.StatusOK, s.world.Commands(c.params["guild_id"]), s.ours(c)
}

func putCommands(s *Server, c *call) (int, any, error) {
	if err := s.ours(c); err != nil {
		return 0, nil, err
	}
	bodies, err := decode[[]json.RawMessage](c.body)
	if err != nil {
		return 0, nil, err
	}
	list, err := s.world.PutCommands(c.params["guild_id"], bodies)
	return http.StatusOK, list, err
}

func postCommand(s *Server, c *call) (int, any, error) {
	if err := s.ours(c); err != nil {
		return 0, nil, err
	}
	cmd, created, err := s.world.UpsertCommand(c.params["guild_id"], c.body)
	if created {
		return http.StatusCreated, cmd, err
	}
	return http.StatusOK, cmd, err
}

func getCommand(s *Server, c *call) (int, any, error) {
	if err := s.ours(c); err != nil {
		return 0, nil, err
	}
	cmd, err := s.world.AppCommandByID(c.params["guild_id"], c.params["command_id"])
	return http.StatusOK, cmd, err
}

func deleteCommand(s *Server, c *call) (int, any, error) {
	if err := s.ours(c); err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, s.world.DeleteCommand(c.params["guild_id"], c.params["command_id"])
}

// hooked is the message id in a webhook path, which for @original is no parameter.
func hooked(c *call) string {
	if id := c.params["message_id"]; id != "" {
		return id
	}
	return "@original"
}

func hookGet(s *Server, c *call) (int, any, error) {
	m, err := s.world.HookGet(c.params["webhook_id"], c.params["webhook_token"], hooked(c))
	return http.StatusOK, m, err
}

func hookEdit(s *Server, c *call) (int, any, error) {
	d, err := draft(c)
	if err != nil {
		return 0, nil, err
	}
	m, err := s.world.HookEdit(c.params["webhook_id"], c.params["webhook_token"], hooked(c), d)
	return http.StatusOK, m, err
}

func hookDelete(s *Server, c *call) (int, any, error) {
	return http.StatusNoContent, nil, s.world.HookDelete(c.params["webhook_id"], c.params["webhook_token"], hooked(c))
}

func followUp(s *Server, c *call) (int, any, error) {
	d, err := draft(c)
	if err != nil {
		return 0, nil, err
	}
	m, err := s.world.FollowUp(c.params["webhook_id"], c.params["webhook_token"], d)
	return http.StatusOK, m, err
}
