"""A web session: acts, what they hit, time, dialogs, tabs, files, and what pages may not do."""

import hashlib

import numpy as np
import pytest

from clew.core import (
    NOTHING,
    Control,
    Element,
    Expects,
    Judged,
    Keys,
    Pointer,
    Probed,
    Refused,
    Scroll,
    SessionSpent,
    Text,
    Tool,
    Wait,
)
from clew.environments.web.hands import check

from ._pages import play, texts

FRAME = frozenset({"frame"})
BUTTON = "<button onclick=\"document.title='pressed'\">Press me</button>"
DEBOUNCE = """<input id=q aria-label=Query><p id=said></p><script>
let t; q.oninput = () => { clearTimeout(t); t = setTimeout(() => { said.textContent = 'asked ' +
q.value + ' at ' + Date.now(); }, 300); };</script>"""


def title(session):
    return session.observe(frozenset({"title"}))["title"]


def test_a_session_is_probed_judged_and_expects(opened):
    session = opened(BUTTON)
    assert isinstance(session, Probed)
    assert isinstance(session, Judged)
    assert isinstance(session, Expects)


def test_only_what_is_named_is_shown(opened):
    session = opened(BUTTON)
    assert set(session.observe(frozenset({"url", "title"}))) == {"url", "title"}
    assert not set(session.act(Wait(0), NOTHING))


def test_a_frame_has_the_size_of_the_screen(opened):
    frame = opened(BUTTON, screen={"width": 640, "height": 400}).observe(FRAME)["frame"]
    assert (frame.shape, frame.dtype) == ((400, 640, 3), np.uint8)
    assert frame.min() < frame.max() == 255


def test_a_pixel_act_records_the_element_that_it_hit(opened):
    session = opened(BUTTON)
    (notes,) = play(session, Pointer("click", ((30, 20),)))
    assert (notes["hit"]["role"], notes["hit"]["name"]) == ("button", "Press me")
    assert title(session) == "pressed"


def test_a_locator_resolves_by_its_row_and_column_headers(opened):
    rows = "".join(
        f"<tr><th scope=row>{n}<td><button onclick=\"document.title='{n}'\">Edit</button>"
        for n in ("Ada", "Emmy")
    )
    session = opened(f"<table><tr><th scope=col>Name<th scope=col>Act</tr>{rows}</table>")
    (notes,) = play(session, Element("button", "edit", ("Emmy", "Act")))
    assert notes["element"]["candidates"] == 1
    assert title(session) == "Emmy"


def test_what_is_ambiguous_is_the_first_in_reading_order_and_says_so(opened):
    session = opened(BUTTON + BUTTON.replace("pressed", "second"))
    (notes,) = play(session, Element("button", "Press me"))
    assert notes["element"]["candidates"] == 2
    assert title(session) == "pressed"


def test_an_element_that_is_not_there_does_nothing_and_says_so(opened):
    session = opened(BUTTON)
    (notes,) = play(session, Element("button", "Send"))
    assert "button 'Send' is not there" in notes["not_found"]
    assert title(session) == "Page"


def test_an_element_out_of_view_is_scrolled_to(opened):
    session = opened("<div style='height:3000px'></div>" + BUTTON)
    play(session, Element("button", "Press me"))
    assert title(session) == "pressed"


def test_elements_inside_frames_are_in_the_tree_and_can_be_pressed(opened):
    inner = "<!doctype html><button onclick=\"parent.document.title='inner'\">In</button>"
    session = opened("<iframe title=Box src=f.html></iframe>", files={"f_html": inner})
    assert "In" in texts(session)
    play(session, Element("button", "In", ("Box",)))
    assert title(session) == "inner"


def test_text_is_typed_exactly(opened):
    text = "<>|\\~\"' , é √ 中 😀\ttab\nline"
    session = opened("<textarea id=t aria-label=Text></textarea>")
    play(session, Element("textbox", "Text", verb="type", text=text))
    tree = session.observe(frozenset({"tree"}))["tree"]
    assert next(n["value"] for n in tree if n["role"] == "textbox") == text


def test_set_replaces_a_value_and_select_chooses_an_option(opened):
    session = opened(
        "<input aria-label=Name value=old><select aria-label=Colour><option>Red<option>Blue"
        "</select><input type=range aria-label=Size>"
    )
    play(
        session,
        Element("textbox", "Name", verb="set", text="new"),
        Element("combobox", "Colour", verb="select", text="Blue"),
        Element("slider", "Size", verb="set", text="70"),
    )
    tree = session.observe(frozenset({"tree"}))["tree"]
    values = {n["name"]: n["value"] for n in tree if n["value"]}
    assert (values["Name"], values["Colour"], values["Size"]) == ("new", "Blue", "70")


def test_an_option_that_is_not_there_is_not_chosen(opened):
    session = opened("<select aria-label=Colour><option>Red</select>")
    (notes,) = play(session, Element("combobox", "Colour", verb="select", text="Green"))
    assert notes["not_done"] == "no option"


def test_scrolling_moves_both_axes(opened):
    session = opened(
        "<div style='width:5000px;height:5000px'></div>"
        "<script>onscroll=()=>document.title=scrollX+','+scrollY</script>"
    )
    play(session, Scroll(100, 100, dx=1, dy=3))
    assert title(session) == "100,300"


def test_keys_are_held_together_in_their_order(opened):
    session = opened(
        "<script>onkeydown=e=>{if(e.key!='Control')document.title=e.ctrlKey+e.key}</script>"
    )
    play(session, Keys("press", ("ctrl", "up")))
    assert title(session) == "trueArrowUp"


def test_a_debounce_fires_after_a_fixed_number_of_acts(opened):
    session = opened(DEBOUNCE, advance_ms=100)
    play(session, Element("textbox", "Query", verb="type", text="ab"), Wait(0))
    assert not any("asked" in text for text in texts(session))
    play(session, Wait(0), Wait(250))
    assert "asked ab at 17676" in " ".join(texts(session))


def test_time_stands_still_between_acts(opened):
    session = opened("<script>setInterval(()=>document.title=Date.now(),10)</script>")
    before = title(session)
    assert title(session) == before
    play(session, Wait(1000))
    assert int(title(session)) - int(before) == 1000


def test_a_page_s_clocks_begin_alike_and_are_in_phase(opened):
    session = opened(
        "<script>document.title=[performance.now(),Date.now()];"
        "requestAnimationFrame(t=>document.title+=','+t)</script>"
    )
    assert title(session) == "0,1767603600000,16"


def test_a_drag_is_seen_on_its_way(opened):
    session = opened(
        "<div style='height:500px'></div><script>let n=0;onmousedown=()=>n=1;"
        "onmousemove=e=>{if(e.buttons)n++};onmouseup=e=>document.title=[n,e.clientX]</script>"
    )
    play(session, Pointer("drag", ((50, 50), (100, 80), (200, 200))))
    assert title(session) == "17,200"


def test_chance_follows_the_seed(opened):
    body = "<script>document.title=[Math.random(),crypto.randomUUID()].join(' ')</script>"
    first, again, other = (title(opened(body, seed)) for seed in (1, 1, 2))
    assert first == again != other


def test_a_dialog_is_seen_and_answered_by_the_next_acts(opened):
    session = opened("<button onclick=\"document.title=prompt('Who?','me')\">Ask</button>")
    (notes,) = play(session, Element("button", "Ask"))
    assert notes["dialog"] == {"kind": "prompt", "message": "Who?"}
    assert session.observe(FRAME)["frame"].shape == (720, 1280, 3)
    assert texts(session) == ["prompt", "Who?", "Cancel", "OK"]
    play(session, Text("Ada"), Keys("press", ("enter",)))
    assert title(session) == "Ada"
    assert session.probe()["dialogs"] == [
        {"kind": "prompt", "message": "Who?", "answer": "accepted", "text": "Ada"}
    ]


def test_a_dialog_can_be_clicked_away(opened):
    session = opened("<button onclick=\"document.title=confirm('Sure?')\">Ask</button>")
    play(session, Element("button", "Ask"))
    tree = session.observe(frozenset({"tree"}))["tree"]
    x, y, width, height = next(n["box"] for n in tree if n["name"] == "Cancel")
    play(session, Pointer("click", ((x + width // 2, y + height // 2),)))
    assert title(session) == "false"


def test_endless_dialogs_take_an_act_each(opened):
    session = opened('<button onclick="for(let i=0;;i++)alert(i)">Storm</button>')
    play(session, Element("button", "Storm"), *[Keys("press", ("enter",))] * 3)
    assert session.act(Wait(0), NOTHING).notes["dialog"]["message"] == "3"


def test_a_new_tab_comes_to_the_front_and_can_be_left(opened):
    session = opened(
        "<a href=o.html target=_blank>Other</a>", files={"o_html": "<title>Other page</title>"}
    )
    (notes,) = play(session, Element("link", "Other"))
    assert (title(session), notes["tabs"]) == ("Other page", 2)
    play(session, Tool.call("tab", index=0))
    assert title(session) == "Page"
    play(session, Tool.call("tab", index=1), Tool.call("close_tab"))
    assert title(session) == "Page"


def test_a_storm_of_windows_opens_no_more_than_a_click_does(opened):
    session = opened("<button onclick=\"for(let i=0;i<50;i++)open('/')\">Storm</button>")
    play(session, Element("button", "Storm"))
    assert len(session.probe()["pages"]) <= 2


def test_a_download_is_probed_by_name_and_digest(opened):
    session = opened("<a download=a.txt href='data:text/plain,hello'>Get</a>")
    play(session, Element("link", "Get"))
    digest = hashlib.sha256(b"hello").hexdigest()
    assert session.probe()["downloads"] == [{"name": "a.txt", "sha256": digest}]


def test_a_file_is_uploaded_by_locator_and_through_the_chooser(web):
    upload = Tool.call("upload", files=["newcomers.txt"])
    by_locator = Element("button", "Import names", verb="set", text="newcomers.txt")
    for acts in ([by_locator], [Element("button", "Import names"), upload]):
        session = web.open(web.start("office-import"))
        play(session, *acts)
        assert session.judge().passed
        session.close()


def test_a_file_that_the_task_does_not_have_is_refused(opened):
    with pytest.raises(Refused, match="no file '/etc/passwd'"):
        opened(BUTTON).act(Tool.call("upload", files=["/etc/passwd"]), NOTHING)


def test_off_origin_traffic_is_blocked_and_listed(opened):
    session = opened(
        "<img src=https://evil.test/x.png><script>new WebSocket('wss://evil.test/s');"
        "fetch('http://127.0.0.1:1/').catch(e=>document.title='blocked')</script>"
    )
    probe = session.probe()
    assert title(session) == "blocked"
    assert probe["blocked"] == [
        "http://127.0.0.1:1/", "https://evil.test/x.png", "wss://evil.test/s",
    ]  # fmt: skip
    assert all(r["status"] is None for r in probe["requests"] if r["blocked"])


def test_a_folder_serves_nothing_outside_it(opened, tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    session = opened(
        "<script>fetch('/%2e%2e/secret.txt').then(r=>document.title=r.status)</script>"
    )
    assert title(session) == "404"


def test_navigating_to_files_is_refused(opened):
    with pytest.raises(Refused, match="http and https alone"):
        opened(BUTTON).act(Tool.call("navigate", url="file:///etc/passwd"), NOTHING)


def test_storage_cookies_and_console_errors_are_probed(opened):
    session = opened(
        "<script>localStorage.a='1';sessionStorage.b='2';document.cookie='c=3';"
        "console.error('oh');throw new Error('no')</script>"
    )
    probe = session.probe()
    assert probe["storage"] == {"https://app.test": {"local": {"a": "1"}, "session": {"b": "2"}}}
    assert [(c["name"], c["value"]) for c in probe["cookies"]] == [("c", "3")]
    assert probe["console"] == ["oh", "no"]


def test_nothing_of_a_session_is_left_for_the_next(opened):
    body = "<script>document.title=localStorage.a+document.cookie;localStorage.a=1;document.cookie='c=3'</script>"
    assert title(opened(body)) == "undefined"
    assert title(opened(body)) == "undefined"


def test_the_clipboard_does_not_pass_from_one_session_to_the_next(opened):
    field = "<input aria-label=Word oninput=document.title='has:'+this.value>"
    word = Element("textbox", "Word", verb="type", text="sesame")
    copied = [word, Keys("press", ("ctrl", "a")), Keys("press", ("ctrl", "c"))]
    paste = [Element("textbox", "Word", verb="focus"), Keys("press", ("ctrl", "v"))]
    session = opened(field)
    play(session, *copied, Element("textbox", "Word", verb="set"), *paste)
    assert title(session) == "has:sesame"
    other = opened(field)
    play(other, *paste)
    assert "sesame" not in title(other)


def test_a_huge_title_is_cut(opened):
    session = opened("<script>document.title='x'.repeat(1e6)</script>")
    assert len(title(session)) == 1000


def test_a_secret_is_typed_and_one_that_is_not_set_is_refused(opened, monkeypatch):
    monkeypatch.setenv("CLEW_TEST_WORD", "sesame")
    session = opened("<input aria-label=Word oninput=document.title=this.value>")
    play(session, Element("textbox", "Word", verb="set", text="open {secret:CLEW_TEST_WORD}"))
    assert title(session) == "open sesame"
    with pytest.raises(Refused, match="set the variable NOT_SET"):
        session.act(Text("{secret:NOT_SET}"), NOTHING)


@pytest.mark.parametrize(
    "action",
    [
        Control((0.0,)), Tool.call("shell"), Tool.call("navigate"), Tool.call("back", far=1),
        Element("buton", "x"), Text("x", seat="reference"),
        Pointer("click", ((1, 1),), button="back"),
    ],
)  # fmt: skip
def test_what_no_session_takes_is_refused(tmp_path, action):
    with pytest.raises(Refused):
        check(action, tmp_path)


def test_an_expected_frame_is_waited_for_and_its_absence_is_noted(opened):
    quick = {"rule": "quiet", "quiet_ms": 40, "cap_ms": 400}
    session = opened(BUTTON, settle=quick)
    seen = session.act(Wait(0), FRAME)
    session.expect(seen, 1.0)
    assert session.act(Wait(0), NOTHING).notes["settle"]["reason"] == "quiet"
    seen.channels["frame"][0, 0] = 7
    session.expect(seen, 1.0)
    assert session.act(Wait(0), NOTHING).notes["settle"]["reason"] in ("unexpected", "cap")


def test_a_closed_session_is_spent(opened):
    session = opened(BUTTON)
    session.close()
    session.close()
    with pytest.raises(SessionSpent):
        session.observe(NOTHING)


@pytest.mark.parametrize(
    "action",
    [Pointer("click", ((5000, 10),)), Pointer("move", ((-1, 10),)), Scroll(10, 100_000, dy=1)],
)
def test_a_point_outside_the_screen_is_refused(opened, action):
    with pytest.raises(Refused, match="is outside the screen of"):
        opened("<p>Page").act(action, frozenset())
