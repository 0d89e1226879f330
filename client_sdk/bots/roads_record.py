"""The roads of a table as its rounds make them, and what its messages must say of them.

Pure. They are computed here from the cards alone, by the SDK's own rules. Read next: `client_sdk.game.roads`.
"""

from dataclasses import dataclass

from client_sdk.bots.findings import Found, Kind
from client_sdk.game.beads import BadBeads, read_beads
from client_sdk.game.road_rounds import RoadRound
from client_sdk.game.roads import Roads
from client_sdk.protocol.messages import RoadsDelta, RoadsView
from client_sdk.protocol.road_views import roads_delta, roads_view


@dataclass(slots=True)
class RoadsRecord:
    """All rounds of the present roads; None where what was told of those before us can't be read."""

    roads: Roads | None
    rounds_max: int | None

    @classmethod
    def seen(cls, view: RoadsView) -> "RoadsRecord":
        """Take in the roads of a snapshot; only their rounds are believed."""
        try:
            return cls(Roads.of(read_beads(view.beads)), view.rounds_max)
        except BadBeads:
            return cls(None, view.rounds_max)

    def starts_shoe(self, told: RoadsView | None, *, ends_with_shoe: bool) -> Found:
        """Take in a fresh shoe: with it the roads begin anew where they go with the shoe, or where they are full."""
        is_full = self.roads is not None and self.rounds_max is not None and len(self.roads.rounds) >= self.rounds_max
        if told is None:
            must_begin = ends_with_shoe or is_full
            return [(Kind.ROADS, "the roads go on where they must begin anew")] if must_begin else []
        self.roads, self.rounds_max = Roads(), told.rounds_max
        found: Found = []
        if told != roads_view(self.roads, told.rounds_max):
            found.append((Kind.ROADS, f"roads that begin anew are told as {told}"))
        if (told.rounds_max is None) != ends_with_shoe:
            found.append((Kind.ROADS, f"the roads are to last {told.rounds_max} rounds"))
        return found

    def plays(self, played: RoadRound, told: RoadsDelta) -> Found:
        """Take in a round; what is told must be what it adds."""
        if self.roads is None:
            return []
        self.roads = self.roads.plus(played)
        right = roads_delta(self.roads)
        return [] if told == right else [(Kind.ROADS, f"the round adds {right}, told is {told}")]

    def compare(self, told: RoadsView) -> Found:
        """Compare the roads of a snapshot."""
        if self.roads is None or told == roads_view(self.roads, self.rounds_max):
            return []
        return [(Kind.SNAPSHOT, f"roads of {self.roads.letters}, told is {told}")]
