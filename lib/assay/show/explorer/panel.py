"""The explorer's widgets: sliders, choices and a button around the HTML that an `Explorer` gives."""

import html

import ipywidgets as widgets

from assay.show.explorer.explorer import Choice, Explorer

_WIDE = widgets.Layout(width="min(46rem, 100%)")
_NAMES = {"description_width": "8rem"}


class Panel:
    """Widgets that show an explorer and follow each other.

    Attributes
    ----------
    widget : ipywidgets.VBox
        All of them.
    series, subgroup : ipywidgets.Dropdown
    threshold, tie_margin : ipywidgets.FloatSlider
        Each beside a field for the same number.
    path : ipywidgets.Text
        Of the policy file, from the root of the repository.
    fix : ipywidgets.Button
    figure, gates, misrouted, status : ipywidgets.HTML
    """

    def __init__(self, explorer: Explorer) -> None:
        self._explorer = explorer
        start = explorer.start
        step = 1 / (explorer.grid - 1)
        self.series = widgets.Dropdown(
            options=list(explorer.series.items()),
            value=start.series,
            description="Series",
            tooltip="Answers of one model and prompt with one kind of confidence",
            style=_NAMES,
            layout=_WIDE,
        )
        self.subgroup = widgets.Dropdown(
            options=list(explorer.subgroups.items()),
            value=start.subgroup,
            description="Subgroup",
            tooltip="The items with one value of a tag",
            style=_NAMES,
            layout=_WIDE,
        )
        self.threshold, threshold = _slider("Threshold", start.threshold, step, "Answers below it are not acted on")
        self.tie_margin, tie_margin = _slider(
            "Tie margin", start.tie_margin, step, "Classes this close to the lead tie"
        )
        self.path = widgets.Text(
            description="Policy file",
            tooltip="From the root of the repository; a file that is there already is not written over",
            style=_NAMES,
            layout=_WIDE,
        )
        self.fix = widgets.Button(
            description="Fix this policy",
            tooltip="Write the policy file of this threshold and tie margin, with the verdict it deserves",
        )
        self.figure, self.gates, self.misrouted, self.status = (widgets.HTML() for _ in range(4))
        self._usual = ""
        remark = (
            [widgets.HTML(f'<p style="line-height: 1.5">{html.escape(explorer.remark)}</p>')] if explorer.remark else []
        )
        self.widget = widgets.VBox(
            [
                *remark,
                *(self.series, self.subgroup, threshold, tie_margin, self.path, self.fix, self.status),
                *(self.figure, self.gates, self.misrouted),
            ]
        )
        for control in (self.series, self.subgroup, self.threshold, self.tie_margin):
            control.observe(self._follow, names="value")
        self.fix.on_click(self._fix)
        self._follow()

    @property
    def choice(self) -> Choice:
        """What the widgets say."""
        return Choice(self.series.value, self.subgroup.value, self.threshold.value, self.tie_margin.value)

    def _follow(self, _change: object = None) -> None:
        choice = self.choice
        try:
            view = self._explorer.view(choice)
            usual = self._explorer.policy_path(choice).as_posix()
        except ValueError as error:
            self._say(str(error))
            self.figure.value = self.gates.value = self.misrouted.value = ""
            return
        self.status.value = ""
        self.figure.value, self.gates.value, self.misrouted.value = view.figure, view.gates, view.misrouted
        # A name that a person gave stays.
        if self.path.value in ("", self._usual):
            self.path.value = usual
        self._usual = usual

    def _fix(self, _button: object = None) -> None:
        try:
            said = self._explorer.fix(self.choice, self.path.value.strip()).words
        except (ValueError, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            said = f"Nothing was written: {reason}"
        self._say(said)

    def _say(self, text: str) -> None:
        self.status.value = f'<p role="status" style="line-height: 1.5">{html.escape(text)}</p>'


def _slider(name: str, value: float, step: float, tooltip: str) -> tuple[widgets.FloatSlider, widgets.HBox]:
    """Make a slider beside a field for the same number, which is labelled for whoever does not see the slider."""
    slider = widgets.FloatSlider(
        value=value,
        min=0.0,
        max=1.0,
        step=step,
        readout=False,
        tooltip=tooltip,
        layout=widgets.Layout(width="min(30rem, 100%)"),
    )
    field = widgets.BoundedFloatText(
        value=value,
        min=0.0,
        max=1.0,
        step=step,
        description=name,
        tooltip=tooltip,
        style=_NAMES,
        layout=widgets.Layout(width="15rem"),
    )
    widgets.link((slider, "value"), (field, "value"))
    return slider, widgets.HBox([field, slider], layout=widgets.Layout(flex_flow="row wrap"))
