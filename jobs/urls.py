from __future__ import annotations

from django.urls import path

from jobs import views

app_name = "jobs"
urlpatterns = [
    path("jobs/", views.job_list, name="list"),
    path("jobs/live", views.live, name="live"),
    path("jobs/waiting/stop", views.cancel_waiting, name="cancel_waiting"),
    path("jobs/<uuid:job_id>/", views.detail, name="detail"),
    path("jobs/<uuid:job_id>/live", views.detail_live, name="detail_live"),
    path("jobs/<uuid:job_id>/stop", views.stop, name="stop"),
    path("jobs/<uuid:job_id>/hold", views.hold, name="hold"),
    path("jobs/<uuid:job_id>/go-on", views.go_on, name="go_on"),
    path("jobs/<uuid:job_id>/retry", views.retry, name="retry"),
]
