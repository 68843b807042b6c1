"""`POST /api/messages`: where the channel sends activities."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.views import GuardedView
from liyagent.core.problems import BodyTooLarge
from liyagent.entry.teams.activity import INVOKE, MESSAGE, read_activity
from liyagent.entry.teams.invoke import answer_invoke
from liyagent.entry.teams.receive import begin_received, check_sender, receive_message
from liyagent.entry.teams.tokens import ChannelToken, IsVouchedFor, Vouched
from missions.context import current_stamp

MOST_BYTES = 256 << 10


class Answered(Response):
    """200, and once that is sent the turn is started: the channel waits for no run."""

    def __init__(self, data: Any, *, run_id: UUID) -> None:
        """`run_id`: the turn that was kept."""
        super().__init__(data)
        self._run_id = run_id

    def close(self) -> None:
        """Start the turn; the server calls this when the answer has left. Then what the request held is given back."""
        try:
            begin_received(self._run_id)
        finally:
            super().close()


@extend_schema(exclude=True)
class Messages(GuardedView):
    """`POST /api/messages`: for the Bot Framework alone, whose token is the authentication (docs/teams.md).

    A message is 200 once its row is committed; what is neither a message nor a button is 200, and nothing comes of it.
    """

    needs = {"POST": ()}
    authentication_classes = (ChannelToken,)
    permission_classes = (IsVouchedFor,)

    def post(self, request: Request) -> Response:
        """Receive an activity."""
        if len(request._request.body) > MOST_BYTES:
            raise BodyTooLarge(f"an activity may have {MOST_BYTES} bytes")
        activity = read_activity(request.data)
        vouched = request.auth
        assert isinstance(vouched, Vouched)
        bot = check_sender(activity, vouched)
        if activity.type == INVOKE:
            return Response(answer_invoke(activity, bot=bot))
        if activity.type != MESSAGE:
            return Response({})
        received = receive_message(activity, bot=bot, request_id=current_stamp().request_id)
        told = {"id": str(received.run_id)}
        return Answered(told, run_id=received.run_id) if received.is_new else Response(told)
