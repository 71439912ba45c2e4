from .captioned import captioned_contents as captioned_contents, render as render, trained_on as trained_on
from .charts import Chart as Chart, Points as Points, chart as chart
from .report import report_project as report_project
from .vote_page import make_vote_page as make_vote_page
