"""What every page of the console is built on: the theme's pages, confirmations, and verbs that own their transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeVar, cast

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from unfold.admin import ModelAdmin as ThemedAdmin
from unfold.decorators import action as themed_action
from unfold.widgets import UnfoldAdminTextareaWidget

from liyagent.core.errors import LiyagentError
from liyagent.core.forms import PlainJSONField
from liyagent.core.paging import BoundedPaginator
from liyagent.core.tables import cell

LONGEST_REASON = 500


F = TypeVar("F", bound=Callable[..., Any])


def action(
    *, description: str, permissions: Sequence[str], url_path: str | None = None
) -> Callable[[F], F]:
    """Make a method an action of a page, for those alone whom each `has_<permission>_permission` lets.

    The theme leads to it by a link: what is answered to GET must change nothing.
    """
    made = themed_action(description=description, permissions=permissions, url_path=url_path)
    return cast("Callable[[F], F]", made)


class ReasonForm(forms.Form):
    """Why something is done: for the audit log."""

    reason = forms.CharField(
        max_length=LONGEST_REASON,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3, "autofocus": True}),
        help_text=f"At most {LONGEST_REASON} characters. It is kept in the audit log, with your name.",
    )


class NothingToSay(forms.Form):
    """A confirmation that wants no words."""


class ConsoleAdmin(ThemedAdmin):  # type: ignore[misc]
    """A page of the console. What changes state is asked for on a page of its own, and done by POST."""

    list_fullwidth = True
    list_per_page = 50
    show_full_result_count = False
    paginator: ClassVar[Any] = BoundedPaginator
    list_disable_select_all = True
    # What an empty list says where nothing was chosen.
    words_if_empty = "There is nothing here yet."
    # What a list shows, and what a person does with it; none: nothing stands above it.
    words_above = ""
    list_before_template: str | None = "admin/about_list.html"
    # What to do where a page of a row that is not there is asked for.
    words_if_not_found = "It is not in this list, or was never there."

    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Any]
    ) -> HttpResponseRedirect | HttpResponse | None:
        """As Django's; a row that cannot be one is told of."""
        try:
            return super().response_action(request, queryset)  # type: ignore[no-any-return]
        except (ValidationError, ValueError):
            self.message_user(request, "What was chosen is not in this list.", messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        """As Django's, which breaks by an address whose `_to_field` is empty."""
        return super().get_object(request, object_id, from_field or None)

    def row_or_404(self, request: HttpRequest, object_id: str) -> Any:
        """Return the row that a page is of. Raises `Http404`."""
        row = self.get_object(request, object_id)
        if row is None:
            raise Http404
        return row

    def _get_obj_does_not_exist_redirect(
        self, request: HttpRequest, opts: Any, object_id: str
    ) -> HttpResponse:
        """As Django's, to the list, with what to do."""
        told = f"There is no {opts.verbose_name} {cell(object_id[:100])}. {self.words_if_not_found}"
        self.message_user(request, told, messages.WARNING)
        return HttpResponseRedirect(self.list_address())

    def list_address(self) -> str:
        """Return the address of the list."""
        options = self.model._meta
        return reverse(f"admin:{options.app_label}_{options.model_name}_changelist")

    def page_address(self, row: Model) -> str:
        """Return the address of a row's page."""
        options = self.model._meta
        return reverse(f"admin:{options.app_label}_{options.model_name}_change", args=[row.pk])

    def confirm(
        self,
        request: HttpRequest,
        *,
        title: str,
        told: Sequence[str],
        button: str,
        form: forms.Form,
        rows: Iterable[Any] = (),
        hidden: Sequence[tuple[str, str]] = (),
        extra: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Ask: what will happen, to which rows, and why. Nothing is changed by showing it."""
        context = {
            **self.admin_site.each_context(request),
            "opts": self.model._meta,
            "title": title,
            "told": told,
            "button": button,
            "form": form,
            "rows": list(rows),
            "hidden": hidden,
            "differences": None,
            "cancel": self.list_address(),
            **(extra or {}),
        }
        return TemplateResponse(request, "admin/confirm.html", context)

    def carry_out(self, request: HttpRequest, verb: Callable[[], object], *, done: str) -> bool:
        """Carry out a verb and say what came of it; whether it was done."""
        try:
            verb()
        except LiyagentError as error:
            self.message_user(request, str(error), messages.ERROR)
            return False
        self.message_user(request, done, messages.SUCCESS)
        return True


class VerbsOwnTransactions(admin.ModelAdmin[Any]):
    """Leaves the transaction of a saved form to the verb that saves it."""

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        """As Django's, without the transaction around it; a verb that refuses is told of."""
        try:
            return self._changeform_view(request, object_id, form_url, extra_context)  # type: ignore[attr-defined]
        except LiyagentError as error:
            self.message_user(request, f"Nothing was saved: {error}", messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())


class VerbAdmin(ConsoleAdmin, VerbsOwnTransactions):
    """A page whose form is saved by a verb. Nothing is deleted here but by a verb, asked for on a page of its own."""

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Django's own way would leave no audit row."""
        return False


def json_field() -> dict[str, Any]:
    """Return how a form takes JSON: made storable, in a field of a few lines."""
    widget = UnfoldAdminTextareaWidget(attrs={"rows": 4})
    return {"form_class": PlainJSONField, "widget": widget}
