from .captioned import render as render, trained_on as trained_on
from .charts import Chart as Chart, Points as Points, chart as chart
from .papers import read_tables as read_tables
from .report import PAGE as PAGE, TABLES as TABLES, make_report as make_report, show as show
from .results import Sources as Sources
