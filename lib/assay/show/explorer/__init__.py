"""Looking at a study by hand: `explore` moves threshold and tie margin, and figures, gates and misroutes follow."""

from assay.show.explorer.explorer import Choice, Explorer, explore
from assay.show.explorer.fixing import Fixed, fix_policy

__all__ = ["Choice", "Explorer", "Fixed", "explore", "fix_policy"]
