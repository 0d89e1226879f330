"""What the house knows, in the words of the wire: refusals with their numbers, receipts, summaries.

Pure: nothing is asked and nothing is sent here. Who asks and who writes is `connection.py`.
"""

import logging

from msgspec.structs import replace

from client_sdk.protocol.errors import ErrorCode
from client_sdk.protocol.messages import (
    Act,
    Error,
    LimitsNow,
    LimitValues,
    Place,
    Receipt,
    TableSummary,
    TableView,
    Undo,
)
from server.store import limits as book
from server.store.errors import Refused, StoreAway, StoreRefused, Unconfirmed
from server.store.tables import ActAnswer, ActLine

log = logging.getLogger(__name__)


def error_reply(request_id: str | None, code: ErrorCode, field: str | None = None) -> Error:
    """Make a numbered refusal."""
    return Error(
        request_id=request_id, code=code, name=code.name, message=code.text, retry=code.is_retryable, field=field
    )


def limits_now(request_id: str, now: book.Limits) -> LimitsNow:
    """Tell a patron's limits and what of them is used."""
    is_excluded, is_in_session = now.now_ms < now.excluded_until_ms, now.now_ms < now.session_until_ms < book.WITHOUT
    return LimitsNow(
        request_id=request_id,
        own=_limit_values(now.own),
        house=_limit_values(now.house),
        next=_limit_values(now.next) if now.next is not None else None,
        next_at_ms=now.next_at_ms,
        reminder_ms=now.reminder_ms or None,
        excluded_until_ms=now.excluded_until_ms if is_excluded else None,
        session_at_ms=now.session_at_ms if is_in_session else None,
        session_until_ms=now.session_until_ms if is_in_session else None,
        staked=now.staked,
        lost=now.lost,
        day_ends_at_ms=now.day_ends_at_ms,
        at_ms=now.now_ms,
    )


def _limit_values(values: book.Values) -> LimitValues:
    return LimitValues(stake_per_day=values.stake, loss_per_day=values.loss, session_ms=values.session_ms)


def error_of(request_id: str, error: Exception) -> Error:
    """Say in the wire's numbers what the store refused; without an answer from it the request may be sent again."""
    match error:
        case Refused() if error.code in ErrorCode.__members__:
            return error_reply(request_id, ErrorCode[error.code])
        case Refused(code="UNKNOWN_PATRON"):  # the store came back without this patron
            return error_reply(request_id, ErrorCode.TOKEN_REFUSED)
        case Unconfirmed():
            return error_reply(request_id, ErrorCode.UNCONFIRMED)
        case StoreAway() | StoreRefused():
            log.warning("store_error", extra={"reason": f"{type(error).__name__} {error}"})
            return error_reply(request_id, ErrorCode.STORE_AWAY)
        case _:
            log.error("request_refused_unexpectedly", extra={"reason": f"{type(error).__name__} {error}"})
            return error_reply(request_id, ErrorCode.INTERNAL)


def line_of(act: Act, patron: str, connection: str) -> ActLine:
    """Put an act in the words of the store."""
    spot = act.spot if isinstance(act, Place | Undo) else None
    chip = act.chip if isinstance(act, Place) else ""
    verb = type(act).__name__.lower()
    return ActLine(patron, connection, act.request_id, act.round, verb, "" if spot is None else spot.value, chip)


def receipt_or_error(act: Act, answer: ActAnswer) -> Receipt | Error:
    """Tell what the table decided; where time was the reason, with both instants."""
    if answer.code == "ok":
        return Receipt(
            request_id=act.request_id,
            table=act.table,
            round=act.round,
            accepted_at_ms=answer.at_ms,
            stack=answer.stack,
            bets=answer.bets,
            ready=answer.ready,
        )
    error = error_reply(act.request_id, ErrorCode[answer.code])
    if error.code not in (ErrorCode.BETTING_CLOSED, ErrorCode.ROUND_OVER):
        return error
    return replace(error, arrived_at_ms=answer.at_ms, closed_at_ms=answer.closed_at_ms or None)


def summary(view: TableView) -> TableSummary:
    """Tell a table as the lobby shows it."""
    return TableSummary(
        table=view.table,
        rules=view.rules,
        phase=view.phase,
        round=view.round,
        closes_at_ms=view.closes_at_ms,
        seated=view.crowd.seated,
        big_road=view.roads.big_road,
        statistics=view.roads.statistics,
    )
