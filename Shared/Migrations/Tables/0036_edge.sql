-- What the edge saw of whoever asked, in bits: 1 it came by the edge, 2 its country is the edge's word, 4 its address is a
-- data centre's, 8 it is a known bot's; from 16 up, the agent's class. NULL: not by the edge.
ALTER TABLE ad_selection.decision_row ADD COLUMN edge_flags smallint CHECK (edge_flags BETWEEN 1 AND 255);
